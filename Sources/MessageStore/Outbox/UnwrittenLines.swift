import Synchronization

/// The lines that their conversations' files lack, and whose records are or will be in the journal.
///
/// A checkpoint declares that the lines of all records up to a number are on disk. The number must be lower
/// than the record of each of these lines.
final class UnwrittenLines: Sendable {
    /// The end of a reply whose line is not written.
    struct Reply: Sendable {
        let conversation: ConversationKey
        let end: AppendedRecord
        /// The line of the reply.
        let line: LineIdentity
        /// The record of the end; nil until it is in the journal.
        var record: UInt64?
    }

    private struct Line {
        /// The journal's last record before the line's own record.
        let floor: UInt64
        var reply: Reply
    }

    private struct State {
        var last: UInt64 = 0
        /// The lines by their numbers in this list.
        var lines: [UInt64: Line] = [:]
        /// The replies whose lines were not written at the last call of `watch()`.
        var watched: [UInt64: Reply] = [:]
    }

    private let state = Mutex(State())

    /// Adds a line whose record will be later than `record`; returns the line's number.
    func begin(after record: UInt64, _ reply: Reply) -> UInt64 {
        state.withLock { state in
            state.last += 1
            state.lines[state.last] = Line(floor: record, reply: reply)
            return state.last
        }
    }

    /// Records that the end of a reply is in the journal.
    func recordEnd(_ line: UInt64, as record: UInt64) {
        state.withLock { state in
            state.lines[line]?.reply.record = record
            state.watched[line]?.record = record
        }
    }

    /// Starts to watch the replies whose lines are not written now, in place of those before.
    func watch() { state.withLock { $0.watched = $0.lines.mapValues(\.reply) } }

    /// The watched replies whose ends are in the journal, although some lines are written since; nil while
    /// the journal has not got all ends.
    var watchedReplies: [Reply]? {
        state.withLock { state in
            state.watched.values.allSatisfy { $0.record != nil } ? Array(state.watched.values) : nil
        }
    }

    /// Removes a line that was written, or whose record was not added to the journal.
    func end(_ line: UInt64) {
        state.withLock { state in
            state.lines[line] = nil
            if state.watched[line]?.record == nil { state.watched[line] = nil }
        }
    }

    /// Returns the last record, at most `record`, up to which no line is missing.
    func checkpoint(through record: UInt64) -> UInt64 {
        state.withLock { $0.lines.values.reduce(record) { min($0, $1.floor) } }
    }
}
