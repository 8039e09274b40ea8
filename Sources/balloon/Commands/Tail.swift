import ArgumentParser
import BalloonPOSIX
import MessageStore

extension Events {
    /// `balloon events tail`.
    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the latest messages, and with -f each further one and each change of its status.")

        @Flag(
            name: [.customShort("f"), .long], help: "Wait for further messages until the command is stopped.")
        var follow = false

        @Option(
            name: [.customShort("n"), .customLong("lines")], help: "The number of messages to begin with.")
        var count = 10

        @OptionGroup var filter: EventFilter
        @OptionGroup var options: ReadingOptions

        func validate() throws {
            guard (0...100_000).contains(count) else { throw ValidationError("-n takes 0 to 100000.") }
        }

        func run() async throws {
            let filter = try filter.resolved(options)
            let journal = try options.journal()
            options.writeHeader("RECORD", "TIME", "STATUS", "BUSINESS", "CUSTOMER", "MESSAGE")
            var shown = ShownEvents()
            var latest = Deque<JournalEvent>()
            var lookedAt = SystemClock.secondsSince1970()
            try journal.forEach { event in
                shown.note(event)
                guard filter.admits(event) else { return }
                latest.append(event)
                if latest.count > count { _ = latest.popFirst() }
            }
            while let event = latest.popFirst() { options.write(event) }
            // A reader of a pipe that is gone ends the command.
            while follow, StandardStream.output.failure == nil {
                let start = ContinuousClock.now
                // A write within the second of the last look, or in the one before, may have come after it.
                if try journal.lastWriteSecondsSince1970() + 2 > lookedAt {
                    lookedAt = SystemClock.secondsSince1970()
                    try journal.forEach(where: { shown.note($0) && filter.admits($0) }, options.write)
                }
                // Reading takes a fifth of the time at most, however long the journal is.
                try await Task.sleep(for: max(.milliseconds(300), (.now - start) * 4))
            }
        }
    }
}

/// The state in which each message was shown last; keeps those that can change.
private struct ShownEvents {
    private var lastRecord: UInt64 = 0
    private var pending: [UInt64: JournalEvent.Status] = [:]

    /// Whether the message is new or has changed.
    @discardableResult
    mutating func note(_ event: JournalEvent) -> Bool {
        let isNew = event.record > lastRecord
        lastRecord = max(lastRecord, event.record)
        let before = pending[event.record]
        // A dead letter that is retried changes later too.
        pending[event.record] = event.isFinished && !event.isDeadLetter ? nil : event.status
        return isNew || (before != nil && before != event.status)
    }
}
