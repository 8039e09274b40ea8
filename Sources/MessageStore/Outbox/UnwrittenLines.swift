import Synchronization

/// The lines that their conversations' files lack, and whose records are or will be in the journal.
///
/// A checkpoint declares that the lines of all records up to a number are on disk. The number must be lower
/// than the record of each of these lines.
final class UnwrittenLines: Sendable {
    private struct State {
        var last: UInt64 = 0
        /// For each line, by its number in this list: the journal's last record before the line's own record.
        var floors: [UInt64: UInt64] = [:]
    }

    private let state = Mutex(State())

    /// Adds a line whose record will be later than `record`; returns the line's number.
    func begin(after record: UInt64) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.floors[state.last] = record
            return state.last
        }
    }

    /// Removes a line that was written, or whose record was not added to the journal.
    func end(_ line: UInt64) { state.withLock { $0.floors[line] = nil } }

    /// Returns the last record, at most `record`, up to which no line is missing.
    func checkpoint(through record: UInt64) -> UInt64 {
        state.withLock { $0.floors.values.reduce(record, min) }
    }
}
