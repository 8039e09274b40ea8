import ArgumentParser
import BalloonPOSIX
import MessageStore

/// `balloon events …`: what came in and what became of it, from the journal.
struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, show and replay the messages in the journal.",
        subcommands: [List.self, Show.self, Replay.self])

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
                ? journal.events { filter.admits($0) && $0.isFinished }
                : journal.events(records).filter(filter.admits)
            for event in chosen { options.write(event) }
            guard send else {
                return StandardStream.error.write(
                    "\(chosen.count) would be handed over again; --send does it\n")
            }
            if chosen.isEmpty { return }
            let replays = try await StoreChange.replay(chosen.map(\.record), data: options.data)
            StandardStream.error.write(
                "handed over again as \(replays.map(String.init).joined(separator: ", "))\n")
        }
    }
}

extension ReadingOptions {
    /// The journal; the directory must be a server's.
    func journal() throws -> JournalFiles {
        try check()
        return JournalFiles(dataDirectory: data)
    }

    /// Writes an event as it was asked for.
    func write(_ event: JournalEvent) {
        StandardStream.output.write(
            json ? EventRendering.json(event, withMessage: false) : EventRendering.text(event))
    }
}
