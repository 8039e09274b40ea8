import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// `balloon send`: sends a message without a handler.
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send a message to a customer.",
        discussion: """
            The message is checked like a handler's reply, sent in order, and recorded in the conversation; by the running \
            server, or by this command when no server runs. Exits with 0 when Apple has accepted it, with 1 when Apple or \
            the network refused it, with 65 when it breaks a rule, and with 75 when it is on disk but not sent yet: \
            then the server continues to retry. With --person that person claims the conversation, so that no handler \
            answers in it; when another person has it, the command exits with 1 and names that person.
            """)

    @Option(help: .value("id", "The customer's identifier; tel:+… for an invitation."))
    var to: String

    @Option(help: .value("slug", "The business, when there is more than one."))
    var business: String?

    @OptionGroup var content: SendContent

    @Flag(help: "Check the message and print it as it would be sent, without sending it.")
    var dryRun = false

    @Option(help: .value("seconds", "The maximum wait for Apple's answer, 0 to 50."))
    var wait = 30

    @Flag(help: "Mark the message as written by a program, like the replies of handlers.")
    var autoReply = false

    @Option(help: .value("id", "The identifier of the person who writes, and claims the conversation."))
    var person: String?

    @Option(help: .value("name", "The name of the person, for other people."))
    var personName: String?

    @Flag(help: "Take the conversation over from another person.")
    var take = false

    @Flag(help: "Write the outcome as one JSON object.")
    var json = false

    @OptionGroup var options: ServerOptions

    func validate() throws {
        try require((0...50).contains(wait), "--wait takes 0 to 50 seconds.")
        try require(person == nil || !autoReply, "Use either --person or --auto-reply, not both.")
        try require(
            person != nil || (personName == nil && !take), "--person-name and --take require --person.")
        _ = try author()
    }

    /// The person that `--person` and `--person-name` name; nil without `--person`.
    private func author() throws -> Person? {
        guard let person else { return nil }
        guard let author = Person(id: person, name: personName) else { throw Person.invalid }
        return author
    }

    func run() async throws {
        let server = try options.server()
        let request = SendRequest(
            business: try server.business(business), customer: CustomerID(to),
            message: try content.document(), files: try content.files(), wait: .seconds(wait),
            isAutomatic: autoReply, person: try author(), takes: take)
        // The server checks the message too; this check reports problems before a connection or a file is
        // opened.
        let message: DecidedReply
        do throws(SendRefusal) { message = try request.outbound(id: .random()) } catch {
            throw CommandFailure.unsendable(error)
        }
        if dryRun { return StandardStream.output.write(message.message + [UInt8(ascii: "\n")]) }
        try report(try await send(request, server))
    }

    private func send(_ request: SendRequest, _ server: KnownServer) async throws -> SendAnswer {
        let data = server.configuration.dataDirectory
        let answer = try await ControlSocket.request(
            ControlOperations.send.path, posting: request.json, data: data,
            timeout: request.wait + .seconds(10))
        guard let answer else {
            do {
                return try await DirectSend.run(request, server.configuration, logger: LogOptions.start())
            } catch let refusal as SendRefusal { throw CommandFailure.unsendable(refusal) }
        }
        guard let answer = ControlOperations.send.answer(answer) else {
            throw CommandFailure.refused(status: 200, answer: "no outcome")
        }
        return answer
    }

    private func report(_ answer: SendAnswer) throws {
        if json {
            StandardStream.output.write(answer.json + [UInt8(ascii: "\n")])
        } else {
            StandardStream.output.write(terminalText("\(answer.text)  \(answer.id)") + "\n")
        }
        guard let result = answer.result else { throw ExitCode(CommandStatus.pending.rawValue) }
        if result.status != .accepted { throw ExitCode(CommandStatus.failed.rawValue) }
    }
}

extension Person {
    /// The error for an invalid identifier or name of a person.
    static var invalid: ValidationError {
        ValidationError(
            "A person's identifier and name have 1 to \(maximumBytes) bytes without control characters.")
    }
}

extension SendAnswer {
    /// The outcome as text: `accepted`, `refused (400): …`, `expired: …`, `dropped: …`, `failed: …` or `queued`.
    fileprivate var text: String {
        guard let result else { return "queued" }
        let status = result.status == .refused ? result.httpStatus.map { " (\($0))" } ?? "" : ""
        return result.status.rawValue + status + (result.reason.map { ": \($0)" } ?? "")
    }
}

/// The content to send: a text, a message or a link; a text may have files.
struct SendContent: ParsableArguments {
    @Option(help: .value("text", "A text."))
    var text: String?

    @Option(help: .value("file", "A file with a message in Apple's JSON format; - is standard input."))
    var message: String?

    @Option(
        help: .value(
            "file|json",
            "A request to sign in, as JSON or a file with it: {\"receivedMessage\": {\"title\": \"Sign in\"}}."
        ))
    var signIn: String?

    @Option(help: .value("url", "The URL of a web page to send as a link, shown with --title."))
    var link: String?

    @Option(help: .value("text", "The title of the link."))
    var title: String?

    @Flag(
        help:
            "Let Apple make the preview of the link, such as for an App Clip or a song; --title is used if it has none."
    )
    var preview = false

    @Flag(
        help:
            "Let Apple store the content once for all customers: a quick reply, list picker, time picker or form."
    )
    var reusable = false

    @Option(help: .value("file", "A file to attach to the text; may be repeated."))
    var attach: [String] = []

    func validate() throws {
        let isText = text != nil || (!attach.isEmpty && message == nil && link == nil && signIn == nil)
        try require(
            [isText, message != nil, link != nil, signIn != nil].filter({ $0 }).count == 1,
            "Use exactly one of --text, --message, --sign-in and --link.")
        try require(attach.isEmpty || isText, "--attach requires --text.")
        try require(
            (link == nil) == (title == nil) || (preview && title == nil),
            "--link requires --title or --preview, and --title requires --link.")
        try require(!preview || link != nil, "--preview requires --link.")
        try require(!reusable || message != nil, "--reusable requires --message.")
    }

    /// Returns the message without the members that the server adds.
    func document() throws -> JSONDocument {
        if let message {
            let document = try CommandFile.json(message)
            guard document.root.kind == .object else {
                throw CommandFailure.malformed(path: message, reason: "is not a JSON object")
            }
            guard reusable else { return document }
            return try JSONDocument(document.root.replacing(members: ["reusable": Array("true".utf8)]))
        }
        if let signIn { return try Self.signInDocument(signIn) }
        let body = (text ?? "") + String(repeating: "\u{FFFC}", count: attach.count)
        return try JSONDocument(
            JSONWriter.object(
                link == nil
                    ? ["type": "text", "body": body]
                    : [
                        "type": "richLink",
                        (preview ? "preview" : "richLinkData"): JSONObject(["url": link, "title": title]),
                    ]))
    }

    /// Reads the message of a sign-in request, which may be the value of a member `signIn`.
    private static func signInDocument(_ given: String) throws -> JSONDocument {
        let isText = given.first { !$0.isWhitespace } == "{"
        let document = isText ? try JSONDocument(Array(given.utf8)) : try CommandFile.json(given)
        guard document.root.kind == .object else {
            throw CommandFailure.malformed(path: given, reason: "is not a JSON object")
        }
        if document.root["signIn"] != nil { return document }
        return try JSONDocument(JSONWriter.object(["signIn": document.root]))
    }

    /// Returns the files by their absolute paths, because the server has another working directory.
    func files() throws -> [OutboundFile] {
        try attach.map { path in
            let whole = path.hasPrefix("/") ? path : try ProcessPaths.workingDirectory() + "/" + path
            // A file that cannot be read is reported before the server is called.
            try CommandFile.check(whole)
            return OutboundFile(path: whole)
        }
    }
}
