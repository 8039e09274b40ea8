import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore

/// `balloon events …`: the inbound messages in the journal, and their outcomes.
struct Events: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List, follow, show, replay and drop the messages in the journal.",
        subcommands: [List.self, Tail.self, Show.self, Replay.self, Drop.self])

    /// `balloon events list`: lists the messages that pass the filters.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract:
                "List messages in the order of arrival: record, time, status, business, customer, summary.")

        @OptionGroup var filter: EventFilterOptions
        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let filter = try filter.resolved(options)
            options.writeHeader("RECORD", "TIME", "STATUS", "BUSINESS", "CUSTOMER", "MESSAGE")
            try options.journal().forEach(where: filter.admits, options.write)
        }
    }

    /// `balloon events show`: shows one message as JSON.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show a message and its outcome as JSON, without secrets.")

        @Argument(help: "The message's record, from the list.")
        var record: UInt64

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            for event in try options.journal().events([record]) {
                StandardStream.output.write(EventRendering.json(event, withMessage: true))
            }
        }
    }

    /// `balloon events replay`: delivers finished messages to their handlers again.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Deliver messages again; a dry run without --send.",
            discussion: "Give records, or select finished messages by --status and the other filters.")

        @Argument(help: "The messages' records.")
        var records: [UInt64] = []

        @Flag(help: "Deliver the messages; without it they are only counted.")
        var send = false

        @OptionGroup var filter: EventFilterOptions
        @OptionGroup var options: ReadingOptions

        func validate() throws {
            if records.isEmpty, filter.status == nil {
                throw ValidationError("Name the records, or a --status.")
            }
        }

        func run() async throws {
            let journal = try options.journal()
            let filter = try filter.resolved(options)
            guard send || !records.isEmpty else {
                var count = 0
                try journal.forEach(where: filter.chooses) { event in
                    count += 1
                    options.write(event)
                }
                return writeDryRun(count)
            }
            let results: [ReplayResult<UInt64>]
            if records.isEmpty {
                // The server finds the messages, which may be too many for a request.
                results = try await ControlOperations.replay.run(.selected(filter), data: try options.data)
                let replayed = Set(results.map(\.original))
                try journal.forEach(where: { replayed.contains($0.record) }, options.write)
            } else {
                let chosen = try journal.events(records).filter(filter.admits)
                for event in chosen { options.write(event) }
                guard send else { return writeDryRun(chosen.count) }
                if chosen.isEmpty { return }
                results = try await ControlOperations.replay.run(
                    .named(chosen.map(NamedState.init)), data: try options.data)
            }
            if results.isEmpty { return }
            StandardStream.error.write(
                "delivered again as \(results.map { "\($0.record)" }.joined(separator: ", "))\n")
        }

        private func writeDryRun(_ count: Int) {
            StandardStream.error.write("\(count) would be delivered again; add --send to do it\n")
        }
    }

    /// `balloon events drop`: ends pending messages without their handlers.
    struct Drop: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "End pending messages for good, without their handlers.",
            discussion: """
                For messages that can never end: their handler is down, their business was removed, or their record is unreadable. A message that a \
                handler is currently handling is not dropped, unless its business was removed.
                """)

        @Argument(help: "The messages' records, from the list.")
        var records: [UInt64]

        @OptionGroup var options: ReadingOptions

        func run() async throws {
            let repeated = try await ControlOperations.dropPending.run(records, data: try options.data)
            for record in records {
                options.writeDropped(.event(record), isRepetition: repeated.contains(record))
            }
        }
    }
}
