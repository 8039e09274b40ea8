import ArgumentParser
import BalloonPOSIX
import MessageServer
import MessageStore

extension Events {
    /// `balloon events tail`: shows the latest messages, and with `-f` also the following ones.
    struct Tail: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the latest messages, and with -f each further one and each change of its status.")

        @Flag(
            name: [.customShort("f"), .long], help: "Wait for further messages until the command is stopped.")
        var follow = false

        @Option(
            name: [.customShort("n"), .customLong("lines")], help: "The number of messages to begin with.")
        var count = 10

        @OptionGroup var filter: EventFilterOptions
        @OptionGroup var options: ReadingOptions

        func validate() throws {
            try require((0...100_000).contains(count), "-n takes 0 to 100000.")
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
            // Stop when a write has failed, for example because the reader of a pipe has closed the pipe.
            while follow, StandardStream.output.failure == nil {
                let start = ContinuousClock.now
                // File times have whole seconds and may lag behind the clock. A write after the last reading may
                // therefore have a file time in the same second as the reading, or in the second before.
                if try journal.lastWriteSecondsSince1970() + 2 > lookedAt {
                    lookedAt = SystemClock.secondsSince1970()
                    try journal.forEach(where: { shown.note($0) && filter.admits($0) }, options.write)
                }
                // Wait four times as long as the reading took. The reading of a long journal then takes at
                // most a fifth of the time.
                try await Task.sleep(for: max(.milliseconds(300), (.now - start) * 4))
            }
        }
    }
}

/// The last known status of each message whose status can still change.
private struct ShownEvents {
    private var lastRecord: UInt64 = 0
    private var pending: [UInt64: JournalEvent.Status] = [:]

    /// Records the status of a message; returns whether the message is new or its status has changed.
    @discardableResult
    mutating func note(_ event: JournalEvent) -> Bool {
        let isNew = event.record > lastRecord
        lastRecord = max(lastRecord, event.record)
        let before = pending[event.record]
        // A dead letter is finished, but a retry still changes its status.
        pending[event.record] = event.isFinished && !event.isDeadLetter ? nil : event.status
        return isNew || (before != nil && before != event.status)
    }
}
