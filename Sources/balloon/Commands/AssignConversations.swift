import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

extension Conversations {
    /// `balloon conversations claim`.
    struct Claim: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "Claim a conversation for a person: its handler gets no messages until the person releases it.",
            discussion: """
                Uses the running server, or the data directory when no server runs. Succeeds when the person already has \
                the conversation. When another person has it, exits with 1 and names that person, unless --take is given.
                """)

        @OptionGroup var choice: ConversationChoice

        @Option(help: .value("id", "The person's identifier."))
        var person: String

        @Option(help: .value("name", "The person's name, for other people."))
        var personName: String?

        @Flag(help: "Take the conversation over from another person.")
        var take = false

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            if Person(id: person, name: personName) == nil { throw Person.invalid }
        }

        func run() async throws {
            guard let person = Person(id: person, name: personName) else { throw Person.invalid }
            try await choice.change(options, ControlOperations.claim) {
                AssignmentRequest($0.business, $0.customer, .claim(person, takes: take))
            }
        }
    }

    /// `balloon conversations release`.
    struct Release: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "End a person's claim of a conversation: the handler answers again, or it waits for another person.",
            discussion: """
                The handler's next event says from which line on the person answered. Exits with 1 when the conversation \
                is already with its handler.
                """)

        /// The values of `--to`.
        enum Receiver: String, CaseIterable, ExpressibleByArgument { case handler, waiting }

        @OptionGroup var choice: ConversationChoice

        @Option(
            help: "handler: the handler answers again. waiting: the conversation waits for another person.")
        var to: Receiver

        @Option(
            help: .value(
                "id",
                "The queue in which it waits, with --to waiting; without this option the queue where it was.")
        )
        var queue: String?

        @Option(help: .value("text", "A note, for other people."))
        var note: String?

        @OptionGroup var options: ReadingOptions

        func validate() throws {
            try require(queue == nil || to == .waiting, "--queue needs --to waiting.")
            try require(
                note.map({ $0.utf8.count <= Assignment.maximumTextBytes }) ?? true,
                "--note takes at most \(Assignment.maximumTextBytes) bytes.")
        }

        func run() async throws {
            let change: AssignmentChange =
                to == .handler
                ? .releaseToHandler(note: note)
                : .releaseToWaiting(note: note, queue.map { Placement(queue: $0, rule: Placement.transfer) })
            try await choice.change(options, ControlOperations.release) {
                AssignmentRequest($0.business, $0.customer, change)
            }
        }
    }

    /// `balloon conversations close`.
    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a conversation: the customer's next message goes to the handler.",
            discussion: "Nothing is sent to the customer.")

        @OptionGroup var choice: ConversationChoice
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try await choice.change(options, ControlOperations.close) {
                AssignmentRequest($0.business, $0.customer, .close)
            }
        }
    }
}

/// The arguments that name the conversation of a command.
struct ConversationChoice: ParsableArguments {
    @Argument(help: "The customer's identifier, or the beginning of it.")
    var customer: String

    @Option(help: .business)
    var business: String?

    /// Makes the change that `request` returns, and prints the assignment after it.
    func change(
        _ options: ReadingOptions, _ operation: ControlOperation<AssignmentRequest, Assignment>,
        _ request: (ConversationFiles.Summary) -> AssignmentRequest
    ) async throws {
        let summary = try options.conversation(of: customer, business)
        let assignment = try await operation.run(request(summary), data: try options.data)
        options.write(
            ConversationRendering.text(summary.business, summary.customer, assignment),
            json: ConversationRendering.json(summary.business, summary.customer, assignment))
    }
}

extension Assignment.State: ExpressibleByArgument {}
