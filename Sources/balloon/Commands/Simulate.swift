import ArgumentParser
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Simulator

/// `balloon simulate`: plays a customer who writes to a business, and Apple's webhook calls.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send messages to a server like Apple.",
        discussion: """
            Each message is a kind (\(Kind.allCases.map(\.rawValue).joined(separator: ", "))), or a file with a \
            message in JSON, in which id, sourceId and destinationId may be missing. The server is the one that \
            balloon dev runs, unless --config names another.
            """)

    /// The default customer.
    static let defaultCustomer = "urn:mbid:AQAAYballoonSimulatedCustomer=="
    /// The maximum wait for a reply, in seconds.
    private static let patience = 20

    @Argument(help: ArgumentHelp("The messages to send.", valueName: "kind|file"))
    var messages: [String]

    @Option(help: ArgumentHelp("The server's base address; /message is appended to it.", valueName: "url"))
    var to: String?

    @Option(help: ArgumentHelp("The business, when there is more than one.", valueName: "slug"))
    var business: String?

    @Option(help: ArgumentHelp("The customer who writes.", valueName: "id"))
    var customer = defaultCustomer

    @Flag(help: "Move interactive data behind a reference, regardless of its size.")
    var large = false

    @Option(help: ArgumentHelp("A file to attach to each text; may be repeated.", valueName: "file"))
    var attach: [String] = []

    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp("Post each message this many times.", valueName: "times"))
    var repetitions = 1

    @Flag(help: "Post the messages, and their repetitions, in any order.")
    var shuffle = false

    @Flag(help: "Wait for the business's replies, and print them.")
    var wait = false

    @Flag(help: "Write one JSON object for each message sent and each reply.")
    var json = false

    @OptionGroup var options: ServerOptions

    func validate() throws {
        guard !messages.isEmpty else { throw ValidationError("Name a kind or a file.") }
        guard (1...1000).contains(repetitions) else { throw ValidationError("--repeat takes 1 to 1000.") }
        guard (1...512).contains(customer.utf8.count) else {
            throw ValidationError("A customer's identifier has 1 to 512 bytes.")
        }
    }

    func run() async throws {
        let inputs = try messages.map { argument throws(CommandFailure) in try SimulatedInput(argument) }
        let server = try options.server()
        guard let url = to ?? server.url else {
            throw CommandFailure.unknownArgument(
                "the server's URL", reason: "is not known", hint: "name its address with --to")
        }
        let customer = SimulatedCustomer(
            id: CustomerID(customer), business: try server.business(business), server: url,
            mspID: server.mspID, secret: server.secret, gateway: server.gateway,
            transport: try CurlTransport())
        var messages: [[UInt8]] = []
        for input in inputs {
            let message = try await message(input, of: customer)
            messages += repeatElement(message, count: repetitions)
        }
        if shuffle { messages.shuffle() }
        var known: Set<[UInt8]> = []
        for message in messages {
            // A repeated message is a duplicate and gets no second reply.
            let waits = wait && known.insert(message).inserted
            try await send(message, as: customer, to: url, waits: waits)
        }
    }

    private func message(_ input: SimulatedInput, of customer: SimulatedCustomer) async throws -> [UInt8] {
        let message = try input.message(of: customer)
        guard case .kind(.text) = input else { return message }
        var attachments: [[UInt8]] = []
        for path in attach {
            try CommandFile.check(path)
            let name = path.split(separator: "/").last.map(String.init) ?? path
            attachments.append(
                try await customer.attach(path, name: name, mimeType: SendContent.mediaType(of: path)))
        }
        return try customer.message(message, with: attachments)
    }

    private func send(
        _ message: [UInt8], as customer: SimulatedCustomer, to url: String, waits: Bool
    ) async throws {
        // Numbers separate these replies from those to earlier messages.
        let before = waits ? try await customer.replies().last?.number ?? 0 : 0
        let answer: TransportResponse
        do {
            answer = try await customer.post(message, isLarge: large)
        } catch TransportError.connectionFailed {
            throw CommandFailure.noAnswer(url: url)
        }
        guard answer.status == 200 else {
            let text = String(decoding: answer.body.prefix(200), as: UTF8.self)
            throw CommandFailure.refused(
                status: answer.status, answer: terminalText(String(text.prefix { !$0.isNewline })))
        }
        let rendering = SimulationRendering(json: json)
        StandardStream.output.write(rendering.sent(message))
        guard waits else { return }
        for reply in try await replies(to: customer, after: before) {
            StandardStream.output.write(rendering.reply(reply))
        }
    }

    /// The first reply, and others that closely follow it.
    private func replies(to customer: SimulatedCustomer, after number: Int) async throws -> [DeliveredMessage]
    {
        var replies = try await customer.replies(after: number, within: .seconds(Self.patience))
        guard !replies.isEmpty else { throw CommandFailure.noReply(seconds: Self.patience) }
        while let last = replies.last {
            let more = try await customer.replies(after: last.number, within: .milliseconds(300))
            if more.isEmpty { break }
            replies += more
        }
        return replies
    }
}
