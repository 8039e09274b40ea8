import BalloonPOSIX
import BusinessMessages

/// An event that was made from a record and may still lack its line.
struct EventDraft: Sendable {
    var event: StoreEvent
    /// The line that the event contains; nil when it needs none.
    var line: LineIdentity?
    /// The line that shows the kind of the event's message; nil when the event has a kind or needs none.
    var kindLine: LineIdentity? {
        guard event.kind == nil, let delivery = event.delivery else { return nil }
        return LineIdentity(record: delivery, reply: nil)
    }
    /// The conversation's key.
    let conversation: ConversationKey

    /// Returns the events of one record, in order; `kind` is that of the message to which the record refers.
    static func events(
        of record: EventRecord, number: UInt64, in key: ConversationKey, kind: Kind?
    ) -> [EventDraft] {
        func draft(
            _ ordinal: Int, _ name: StoreEvent.Name, _ at: Timestamp, _ kind: Kind?
        ) -> EventDraft {
            let event = StoreEvent(
                StoreEvent.Key(record: number, ordinal: ordinal), name, in: key, at: at, kind: kind)
            return EventDraft(event: event, conversation: key)
        }
        switch record {
        case .message(_, let id, let outboundKind?, _, let at, let claimant):
            var queued = draft(0, .messageQueued, at, outboundKind)
            queued.event.message = id
            guard let claimant else { return [queued] }
            let change = EventRecord.AssignedChange(
                name: .conversationClaimed, state: .person, person: claimant, reason: nil)
            let claimed = draft(1, change.name, at, nil).event.with(change)
            return [queued, EventDraft(event: claimed, conversation: key)]
        case .message(_, _, nil, isReplay: true, _, _): return []
        case .message(_, let id, nil, isReplay: false, let at, _):
            var received = draft(0, .messageReceived, at, nil)
            received.event.message = id
            received.line = LineIdentity(record: number, reply: nil)
            return [received]
        case .assignment(_, let change, let at):
            return [EventDraft(event: draft(0, change.name, at, nil).event.with(change), conversation: key)]
        case .outcome(_, let at, let replies, let handOff):
            let queued = replies.enumerated().map { index, reply in
                var queued = draft(index, .messageQueued, at, reply.kind)
                queued.event.message = reply.id
                return queued
            }
            guard let handOff else { return queued }
            let last = draft(replies.count, handOff.name, at, nil).event.with(handOff)
            return queued + [EventDraft(event: last, conversation: key)]
        case .reply(let of, let reply, _):
            var ended = draft(
                0, reply.status == .accepted ? .messageAccepted : .messageFailed, reply.at, nil)
            ended.event.message = reply.id
            ended.event.status = reply.httpStatus
            ended.line = LineIdentity(record: of, reply: reply.id)
            if reply.status != .accepted {
                ended.event.outcome = reply.status.rawValue
                ended.event.reason = reply.reason
            }
            guard reply.status.isDeadLetter else { return [ended] }
            var letter = draft(1, .replyDeadLetter, reply.at, nil)
            letter.event.message = reply.id
            letter.event.outcome = reply.status.rawValue
            letter.event.status = reply.httpStatus
            letter.event.reason = reply.reason
            letter.line = ended.line
            return [ended, letter]
        case .parked(let of, let at):
            var parked = draft(0, .deliveryParked, at, kind)
            parked.event.delivery = of
            return [parked]
        case .finished(let of, let finished, let at, let reason, let isDeadLetter):
            guard isDeadLetter else { return [] }
            var letter = draft(0, .deliveryDeadLetter, at, finished ?? kind)
            letter.event.delivery = of
            letter.event.reason = reason
            return [letter]
        }
    }

    /// Returns the event with its line or its kind, which a search for lines found.
    func completed(in search: FoundLines?) -> StoreEvent {
        guard let line else {
            var event = event
            if let kindLine { event.kind = search?.lines[kindLine]?.kind }
            return event
        }
        return completed(with: search?.lines[line], isSearchComplete: search?.isComplete ?? true)
    }

    /// Returns the event with its line.
    ///
    /// It has no line when the line could not be written, or when the message ended before. The event has no
    /// line and is marked as truncated when the search did not reach the line, or the line is too large.
    func completed(with found: FoundLine?, isSearchComplete: Bool = true) -> StoreEvent {
        var event = event
        guard let found else {
            event.isTruncated = !isSearchComplete && event.name != .replyDeadLetter
            return event
        }
        event.at = found.at
        event.message = found.id
        event.kind = found.kind
        event.sequence = found.sequence
        // A dead letter only names the line, because the event before it contains the line.
        guard event.name != .replyDeadLetter else { return event }
        event.line = found.text
        event.isTruncated = found.text == nil
        return event
    }
}

extension StoreEvent {
    fileprivate func with(_ change: EventRecord.AssignedChange) -> StoreEvent {
        var event = self
        event.state = change.state.rawValue
        event.person = change.person
        event.reason = change.reason
        event.note = change.note
        return event
    }
}

/// A line that was found in its file, or was written a moment ago.
struct FoundLine: Sendable {
    let sequence: Int
    let at: Timestamp
    let id: MessageID
    let kind: Kind
    /// The text without its line feed; nil when it is too large for an event.
    let text: [UInt8]?

    init(sequence: Int, at: Timestamp, id: MessageID, kind: Kind, text: ArraySlice<UInt8>) {
        self.sequence = sequence
        self.at = at
        self.id = id
        self.kind = kind
        self.text = text.count <= StoreEvent.maximumLineBytes ? Array(text) : nil
    }
}
