import Synchronization

/// The lines whose records are in the journal or on their way to it, but which are not in the conversation's
/// file yet.
///
/// A checkpoint declares that the lines of all records up to a number are on disk. That number must be lower than the
/// records of these lines.
final class UnwrittenLines: Sendable {
    private struct State {
        var last: UInt64 = 0
        /// For each line, by its number: the last record before the line's own record.
        var floors: [UInt64: UInt64] = [:]
    }

    private let state = Mutex(State())

    /// Adds a line whose record follows `record`; returns its number.
    func begin(after record: UInt64) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.floors[state.last] = record
            return state.last
        }
    }

    /// Removes a line that is written, or whose record did not get into the journal.
    func end(_ line: UInt64) { state.withLock { $0.floors[line] = nil } }

    /// The last record, at most `record`, up to which no line is missing.
    func checkpoint(through record: UInt64) -> UInt64 {
        state.withLock { $0.floors.values.reduce(record, min) }
    }
}
