import ArgumentParser
import BalloonPOSIX
import BusinessMessages

/// `balloon convert …`: converts messages from other formats.
struct Convert: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Convert messages from other formats.", subcommands: [FromLivePerson.self])

    /// `balloon convert liveperson`: converts structured content to an iMessage app's bubble.
    struct FromLivePerson: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "liveperson",
            abstract: "Convert LivePerson's metadata BusinessChatCustomMessage to a message for Apple.",
            discussion: """
                A customer's reply by LivePerson's convention, given as a whole message, is printed as its text. \
                Exits with 65 when the metadata is incomplete, and reports every problem.
                """)

        @Argument(help: "The file; - is standard input.")
        var file: String

        @Option(
            name: .customLong("image-host"),
            help: .value("host", "A host from which images may be loaded; can be repeated."))
        var imageHosts: [String] = []

        func run() async throws {
            let document = try CommandFile.json(file)
            if case .app(let app) = InboundEvent.decode(message: document).content {
                guard let text = app.replyText else {
                    throw CommandFailure.malformed(
                        path: file, reason: "is a LivePerson reply for an app, without a text")
                }
                return StandardStream.output.write(terminalText(text) + "\n")
            }
            let conversion = LivePersonMessage.read(document.root, imageHosts: imageHosts)
            for problem in conversion.problems {
                StandardStream.error.write(ProblemRendering.text(problem, in: file))
            }
            guard let message = conversion.message else {
                throw ExitCode(CommandStatus.badData.rawValue)
            }
            if let imageURL = message.imageURL {
                StandardStream.error.write(
                    "note: \(terminalText(imageURL)) is an image to upload and to send as attachment\n")
            }
            StandardStream.output.write(OutboundMessage.app(message.request).draft() + [UInt8(ascii: "\n")])
        }
    }
}
