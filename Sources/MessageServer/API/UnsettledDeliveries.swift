import BalloonPOSIX
import BusinessMessages
import MessageStore
import Synchronization

/// The messages and replies that wait or failed, as the lists of the API have them.
///
/// A copy of what the journal says: read again when it is older than five seconds and a list is asked for, by one reader
/// at a time, which rests for twenty times the time that it took. So lists use at most a twentieth of a core whatever
/// programs ask for. A new dead letter appears with that delay; one that was decided is left out at once.
final class UnsettledDeliveries: Sendable {
    /// A message whose delivery waits, or failed.
    struct Event: Sendable {
        let record: UInt64
        let at: Timestamp
        let business: BusinessID
        /// The name of the conversation's file.
        let conversation: String
        let id: MessageID
        let kind: Kind?
        let status: JournalEvent.Status
        let reason: String?
        let attempts: Int
        let next: Timestamp?
        let replayOf: UInt64?
        let replayedAs: UInt64?
        let replies: [ReplyState.Status]

        init(_ event: JournalEvent) {
            record = event.record
            at = event.at
            business = event.business
            conversation = ConversationFiles.name(of: event.customer)
            id = event.id
            kind = event.kind
            status = event.status
            reason = event.reason
            attempts = event.attempts
            next = event.next
            replayOf = event.replayOf
            replayedAs = event.replayedAs
            replies = event.replies
        }
    }

    /// A reply that waits, or was not sent.
    struct Reply: Sendable {
        let id: ReplyID
        let decidedAt: Timestamp
        let business: BusinessID
        let conversation: String
        let message: MessageID
        let kind: Kind
        let status: ReplyState.Status
        let httpStatus: Int?
        let reason: String?
        let attempts: Int
        let next: Timestamp?

        init(_ reply: JournalReply) {
            id = reply.id
            decidedAt = reply.decidedAt
            business = reply.business
            conversation = ConversationFiles.name(of: reply.customer)
            message = reply.messageID
            kind = reply.kind
            status = reply.status
            httpStatus = reply.httpStatus
            reason = reply.reason
            attempts = reply.attempts
            next = reply.next
        }
    }

    /// Both lists, the newest entry first.
    struct Lists: Sendable {
        var events: [Event] = []
        var replies: [Reply] = []
    }

    private struct State {
        /// The lists, or the reason why the journal cannot be read.
        var latest: Result<Lists, any Error>?
        /// The time before which the journal is not read again.
        var validUntil = ContinuousClock.now
        var reading: Task<Lists, any Error>?
    }

    private let journal: JournalFiles
    private let store: Store
    private let state = Mutex(State())
    private let executor = BlockingTaskExecutor()
    private static let minimumAge = Duration.seconds(5)
    private static let restFactor = 20

    init(_ journal: JournalFiles, _ store: Store) {
        self.journal = journal
        self.store = store
    }

    /// The current lists, without dead letters that were decided since they were read.
    func lists() async throws -> Lists {
        let (latest, task) = state.withLock { state -> (Result<Lists, any Error>?, Task<Lists, any Error>?) in
            if let latest = state.latest, ContinuousClock.now < state.validUntil { return (latest, nil) }
            if let reading = state.reading { return (nil, reading) }
            let reading = Task(executorPreference: executor) { try self.read().get() }
            state.reading = reading
            return (nil, reading)
        }
        var lists = Lists()
        if let latest { lists = try latest.get() } else if let task { lists = try await task.value }
        lists.events.removeAll { $0.status.isDeadLetter && !store.isDeadLetter($0.record) }
        lists.replies.removeAll {
            $0.status.isDeadLetter && !store.isDeadLetter($0.id.record, reply: $0.id.index)
        }
        return lists
    }

    private func read() -> Result<Lists, any Error> {
        let start = ContinuousClock.now
        let latest = Result { try readJournal() }
        let now = ContinuousClock.now
        state.withLock { state in
            state.latest = latest
            state.validUntil = now + max(Self.minimumAge, (now - start) * Self.restFactor)
            state.reading = nil
        }
        return latest
    }

    private func readJournal() throws -> Lists {
        var lists = Lists()
        try journal.forEach(where: {
            $0.outboundKind == nil && !$0.isReplyFailure && ($0.isDeadLetter || !$0.isFinished)
        }) { lists.events.append(Event($0)) }
        try journal.forEachReply(where: { $0.isDeadLetter || $0.status == .queued }) {
            lists.replies.append(Reply($0))
        }
        lists.events.sort { $0.record > $1.record }
        lists.replies.sort { $0.id > $1.id }
        return lists
    }
}
