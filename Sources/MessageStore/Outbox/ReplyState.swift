import BalloonPOSIX

/// The state of one decided reply according to the journal's records so far, without its text.
package struct ReplyState: Sendable {
    /// The state of a reply.
    package enum Status: String, CaseIterable, Sendable {
        /// Waiting to be sent.
        case queued
        /// The gateway accepted it.
        case accepted
        /// The gateway or a local check refused it: a dead letter.
        case refused
        /// The reply was not sent in time: a dead letter.
        case expired
        /// An earlier version of this program stopped retrying it: a dead letter.
        case failed
        /// The reply was no longer wanted: the customer closed the conversation, or an operator dropped it.
        case dropped
        /// The reply was queued, and its customer was erased.
        case erased
        /// The reply was a dead letter, and is sent again as another record.
        case retried

        /// Whether the reply is a dead letter, which needs an operator's decision.
        package var isDeadLetter: Bool {
            switch self {
            case .refused, .expired, .failed: true
            case .queued, .accepted, .dropped, .erased, .retried: false
            }
        }
    }

    /// The time of the decision.
    let decidedAt: Timestamp
    private(set) var status = Status.queued
    /// How the reply ended; nil while it is queued, and for a copy, whose line has it.
    ///
    /// The conversation's line shows this end. An operator's later decision about the dead letter changes only `status`.
    private(set) var result: ReplyResult?
    /// The number of attempts in the journal.
    private(set) var attempts = 0
    /// The time of the next attempt; nil when none is planned.
    private(set) var next: Timestamp?
    /// The record that ended the reply, and its time.
    private(set) var end: (record: UInt64, at: Timestamp)?
    /// The record of the message that sends the reply again; nil when the reply was not retried.
    private(set) var retriedAs: UInt64?
    /// The place of the reply's copy in a later segment; nil when there is no copy.
    ///
    /// The copy exists so that the reply's own segment can be deleted.
    private(set) var carried: RecordLocation?

    init(decidedAt: Timestamp) { self.decidedAt = decidedAt }

    mutating func apply(_ attempt: JournalRecord.ReplyAttempt) {
        guard attempt.number > attempts else { return }
        attempts = attempt.number
        next = attempt.next
    }

    mutating func end(_ reply: JournalRecord.Reply, by record: UInt64) {
        guard status == .queued else { return }
        status = reply.result.status
        result = reply.result
        attempts = max(attempts, reply.attempts)
        next = nil
        end = (record, reply.at ?? decidedAt)
    }

    /// Ends a queued reply as failed, because an earlier version ended its message's delivery as failed.
    mutating func fail(_ reason: String?) {
        guard status == .queued else { return }
        status = .failed
        result = .failed(reason: reason ?? "")
        next = nil
    }

    mutating func drop() { if status.isDeadLetter { status = .dropped } }

    mutating func retry(as record: UInt64) {
        guard status.isDeadLetter else { return }
        status = .retried
        retriedAs = record
    }

    /// Sets the place of the dead letter's copy, which also contains the reply's result.
    mutating func carry(to location: RecordLocation) {
        carried = location
        if status == .queued { status = .refused }
    }
}
