import Synchronization

/// The lines whose records are in the journal or on their way to it, but which are not in the conversation's
/// file yet.
///
/// A checkpoint declares that the lines of all records up to a number are on disk; it must stay below these.
final class UnwrittenLines: Sendable {
    private struct State {
        var last: UInt64 = 0
        /// Each line's number, and the last record before its own.
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

    /// Removes a line that is written, or whose record is not in the journal.
    func end(_ line: UInt64) { state.withLock { $0.floors[line] = nil } }

    /// The last record up to which no line is missing.
    func checkpoint(through record: UInt64) -> UInt64 {
        state.withLock { $0.floors.values.reduce(record, min) }
    }
}
