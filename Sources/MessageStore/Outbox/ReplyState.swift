import BalloonPOSIX

/// What the journal's records say of one decided reply so far, without its text.
package struct ReplyState: Sendable {
    /// What became of a reply.
    package enum Status: String, CaseIterable, Sendable {
        /// It waits to be sent.
        case queued
        /// The gateway accepted it.
        case accepted
        /// The gateway, or a rule of Apple's, refused it: a dead letter.
        case refused
        /// It could not be sent in time: a dead letter.
        case expired
        /// An earlier version of this program gave it up: a dead letter.
        case failed
        /// It was not to be sent any more: the customer closed the conversation, or an operator said so.
        case dropped
        /// It was a dead letter, and is sent again as another record.
        case retried

        /// Whether somebody must decide what is to be done.
        package var isDeadLetter: Bool {
            switch self {
            case .refused, .expired, .failed: true
            case .queued, .accepted, .dropped, .retried: false
            }
        }
    }

    /// When it was decided.
    let decidedAt: Timestamp
    private(set) var status = Status.queued
    /// The gateway's HTTP status, when one came.
    private(set) var httpStatus: Int?
    private(set) var reason: String?
    /// How many attempts to send it are known.
    private(set) var attempts = 0
    /// When the next attempt is due.
    private(set) var next: Timestamp?
    /// The record that says how it ended, and when.
    private(set) var end: (record: UInt64, at: Timestamp)?
    /// The record as which it is sent again.
    private(set) var retriedAs: UInt64?
    /// Where it was carried to, when its own segment may be gone.
    private(set) var carried: RecordLocation?

    init(decidedAt: Timestamp) { self.decidedAt = decidedAt }

    /// How it ended; nil while it is queued.
    ///
    /// What was decided about a dead letter later changes no line.
    var result: ReplyResult? {
        switch status {
        case .queued: nil
        case .accepted: .accepted(status: httpStatus ?? 200)
        case .refused: .refused(status: httpStatus, reason: reason ?? "")
        case .expired: .expired(reason: reason ?? "")
        case .failed: .failed(reason: reason ?? "")
        case .dropped, .retried: .dropped(reason: reason ?? "")
        }
    }

    mutating func apply(_ attempt: JournalRecord.ReplyAttempt) {
        attempts = max(attempts, attempt.number)
        next = attempt.next
    }

    mutating func end(_ reply: JournalRecord.Reply, by record: UInt64) {
        guard status == .queued else { return }
        status = reply.status
        httpStatus = reply.httpStatus
        reason = reply.reason
        attempts = max(attempts, reply.attempts)
        next = nil
        end = (record, reply.at ?? decidedAt)
    }

    /// Notes that its delivery failed before it was sent.
    mutating func fail(_ reason: String?) {
        guard status == .queued else { return }
        status = .failed
        self.reason = reason
        next = nil
    }

    mutating func drop() { if status.isDeadLetter { status = .dropped } }

    mutating func retry(as record: UInt64) {
        guard status.isDeadLetter else { return }
        status = .retried
        retriedAs = record
    }

    /// A dead letter that was carried says its result itself.
    mutating func carry(to location: RecordLocation) {
        carried = location
        if status == .queued { status = .refused }
    }
}
