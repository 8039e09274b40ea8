import ArgumentParser
import BalloonPOSIX
import MessageStore

/// `balloon events …`: what came in and what became of it, from the journal.
struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show, replay and drop the messages in the journal.",
        subcommands: [List.self, Show.self, Replay.self, Drop.self])

    /// `balloon events list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List messages in the order of arrival: record, time, status, business, customer, summary.")

        @OptionGroup var filter: EventFilter
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            try options.journal().forEach(
                where: filter.admits, options.write)
        }
    }

    /// `balloon events show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a message as JSON, without secrets, and what became of it.")

        @Argument(help: "The message's record, as the list shows it.")
        var record: UInt64

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            for event in try options.journal().events([record]) {
                StandardStream.output.write(EventRendering.json(event, withMessage: true))
            }
        }
    }

    /// `balloon events replay`.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Hand messages over again; shows which, and does it only with --send.",
            discussion: "Names records, or chooses finished messages by --status and the other filters.")

        @Argument(help: "The messages' records.")
        var records: [UInt64] = []

        @Flag(help: "Really hand them over.")
        var send = false

        @OptionGroup var filter: EventFilter
        @OptionGroup var options: ReadingOptions

        func validate() throws {
            if records.isEmpty, filter.status == nil {
                throw ValidationError("Name the records, or a --status.")
            }
        }

        func run() async throws {
            let journal = try options.journal()
            let chosen =
                try records.isEmpty
                ? journal.events { filter.admits($0) && $0.isFinished && !$0.isReplyFailure }
                : journal.events(records).filter(filter.admits)
            for event in chosen { options.write(event) }
            guard send else {
                return StandardStream.error.write(
                    "\(chosen.count) would be handed over again; --send does it\n")
            }
            if chosen.isEmpty { return }
            let results = try await StoreChange.replay(chosen.map(NamedState.init), data: options.data)
            StandardStream.error.write(
                "handed over again as \(results.map { "\($0.replay)" }.joined(separator: ", "))\n")
        }
    }
}

extension Events {
    /// `balloon events drop`.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End pending messages for good, without their handlers.",
            discussion: """
                For messages that cannot end: their business is gone, or their record cannot be read. A message that a \
                handler has at the moment is not dropped.
                """)

        @Argument(help: "The messages' records, as the list shows them.")
        var records: [UInt64]

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let repeated = try await StoreChange.dropPending(records, data: options.data)
            for record in records {
                options.writeDropped(record, isRepetition: repeated.contains(record))
            }
        }
    }
}
