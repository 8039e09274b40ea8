import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

extension Conversations {
    /// `balloon conversations claim`.
    struct Claim: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Claim a conversation for a person: no handler answers in it from then on.",
            discussion: """
                Uses the running server, or the directory when none runs. Succeeds when the same person has the conversation \
                already; exits with 1 and says who has it when another person does, unless --take is given.
                """)

        @OptionGroup var choice: ConversationChoice

        @Option(help: ArgumentHelp("The person's identifier.", valueName: "id"))
        var person: String

        @Option(help: ArgumentHelp("The person's name, for other people.", valueName: "name"))
        var personName: String?

        @Flag(help: "Take the conversation over from another person.")
        var take = false

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            if Person(id: person, name: personName) == nil { throw Person.invalid }
        }

        func run() async throws {
            guard let person = Person(id: person, name: personName) else { throw Person.invalid }
            try await choice.change(options) {
                AssignmentRequest($0.business, $0.customer, claimedBy: person, takes: take)
            }
        }
    }

    /// `balloon conversations release`.
    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "End a person's time in a conversation: the handler answers again, or it waits for another person.",
            discussion: """
                The first event that the handler gets afterwards says where the person began. Exits with 1 when the conversation \
                is with its handler already.
                """)

        /// The values of `--to`.
        enum Receiver: String, CaseIterable, ExpressibleByArgument { case handler, waiting }

        @OptionGroup var choice: ConversationChoice

        @Option(help: "The handler, or waiting: another person.")
        var to: Receiver

        @Option(help: ArgumentHelp("A note, for other people.", valueName: "text"))
        var note: String?

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            guard note.map({ $0.utf8.count <= Assignment.maximumTextBytes }) ?? true else {
                throw ValidationError("--note takes at most \(Assignment.maximumTextBytes) bytes.")
            }
        }

        func run() async throws {
            try await choice.change(options) {
                AssignmentRequest($0.business, $0.customer, releasedToHandler: to == .handler, note: note)
            }
        }
    }

    /// `balloon conversations close`.
    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a conversation: the customer's next message begins with the handler.",
            discussion: "Nothing is sent to the customer.")

        @OptionGroup var choice: ConversationChoice
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try await choice.change(options) { AssignmentRequest(closing: $0.business, $0.customer) }
        }
    }
}

/// The conversation that a command changes.
struct ConversationChoice: ParsableArguments {
    @Argument(help: "The customer's identifier, or its beginning.")
    var customer: String

    @Option(
        help: ArgumentHelp(
            "The business, when several have that customer: its slug, its identifier, or the beginning of one.",
            valueName: "business"))
    var business: String?

    /// Makes a change and writes the assignment after it.
    func change(
        _ options: ReadingOptions, _ request: (ConversationFiles.Summary) -> AssignmentRequest
    ) async throws {
        let summary = try options.conversation(of: customer, business)
        let assignment = try await StoreChange.assign(request(summary), data: try options.data)
        options.write(
            ConversationRendering.text(summary.business, summary.customer, assignment),
            json: ConversationRendering.json(summary.business, summary.customer, assignment))
    }
}

extension Assignment.State: ExpressibleByArgument {}
