import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// Which record makes which events.
extension StoreEvent {
    /// Returns the events of one record, in order; those of a message may still lack their lines.
    ///
    /// `conversation` is that of the message which the record begins or changes.
    static func events(
        of record: AppendedRecord, number: UInt64, in conversation: ConversationKey
    ) -> [StoreEvent] {
        func event(_ ordinal: Int, _ name: Name, at: Timestamp?, kind: Kind? = nil) -> StoreEvent {
            StoreEvent(
                Key(record: number, ordinal: ordinal), name, in: conversation,
                at: at ?? Timestamp(milliseconds: 0), kind: kind)
        }
        /// The members that only the record's text has; few records with events need them.
        ///
        /// The store wrote the text as JSON. Text that cannot be parsed nevertheless has no members.
        func members() -> JSONValue? { (try? JSONDocument(record.body, limits: .journal))?.root }
        switch record.meaning {
        case .message(let message):
            guard let kind = message.outboundKind else {
                // The line of a replayed message was written for the original message.
                if message.replayOf != nil { return [] }
                var received = StoreEvent.received(number, message.id, at: message.at, in: conversation)
                if message.act == .internal { received.name = .conversationNoted }
                return [received]
            }
            var queued = event(0, .messageQueued, at: message.at, kind: kind)
            queued.message = message.id
            guard message.claimedAt != nil, let person = message.author?.person else { return [queued] }
            var claimed = event(1, .conversationClaimed, at: message.at)
            claimed.assignment = Assignment(state: .person, record: number)
            claimed.assignment?.person = person
            return [queued, claimed]
        case .assignment(let record):
            let members = members()
            guard let name = Name(change: members?["by"]?.string ?? "") else { return [] }
            return [event(0, name, at: members?.timestamp("at")).with(record.assignment)]
        case .change(_, .outcome(let outcome)):
            let replies = outcome.replies > 0 ? members()?["replies"]?.elements : nil
            var events: [StoreEvent] = []
            for reply in replies.map(Array.init) ?? [] {
                let kind = reply["kind"]?.string.flatMap(Kind.init) ?? .unrecognized
                events.append(event(events.count, .messageQueued, at: outcome.at, kind: kind))
                events[events.count - 1].message = MessageID(reply["id"]?.string ?? "")
            }
            guard let handOff = outcome.handOff?.assignment else { return events }
            return events + [event(events.count, .conversationHandedOff, at: outcome.at).with(handOff)]
        case .change(let of, .reply(let reply)):
            let result = reply.result
            let isAccepted = result.status == .accepted
            var ended = event(0, isAccepted ? .messageAccepted : .messageFailed, at: reply.at)
            ended.message = reply.id
            ended.status = result.httpStatus
            ended.missingLine = LineIdentity(record: of, reply: reply.id)
            if !isAccepted {
                ended.outcome = result.status.rawValue
                ended.reason = result.reason
            }
            guard result.isDeadLetter else { return [ended] }
            var letter = event(1, .replyDeadLetter, at: reply.at)
            (letter.message, letter.status) = (ended.message, ended.status)
            (letter.outcome, letter.reason) = (ended.outcome, ended.reason)
            letter.missingLine = ended.missingLine
            return [ended, letter]
        case .change(let of, .attempt(let attempt)) where attempt.isParked:
            var parked = event(0, .deliveryParked, at: members()?.timestamp("at"))
            parked.delivery = of
            return [parked]
        case .change(let of, .finished(let finished)) where finished.result.isDeadLetter:
            var letter = event(
                0, .deliveryDeadLetter, at: members()?.timestamp("at"), kind: finished.kind)
            letter.delivery = of
            letter.reason = finished.reason
            return [letter]
        default: return []
        }
    }

    /// Returns the event of a customer's message, whose line has its kind.
    static func received(
        _ record: UInt64, _ id: MessageID? = nil, at: Timestamp? = nil, in conversation: ConversationKey
    ) -> StoreEvent {
        var received = StoreEvent(
            Key(record: record, ordinal: 0), .messageReceived, in: conversation,
            at: at ?? Timestamp(milliseconds: 0))
        received.message = id
        received.missingLine = LineIdentity(record: record, reply: nil)
        return received
    }

    private func with(_ assignment: Assignment) -> StoreEvent {
        var event = self
        event.assignment = assignment
        event.reason = assignment.reason
        return event
    }
}

/// The lines of events.
extension StoreEvent {
    /// The line to look up: the event's own, or that of the message, which shows the kind; nil when none is needed.
    var neededLine: LineIdentity? {
        guard missingLine == nil, kind == nil else { return missingLine }
        return delivery.map { LineIdentity(record: $0, reply: nil) }
    }

    /// Returns the event with its line or its kind, which a search for lines found.
    func completed(in search: FoundLines?) -> StoreEvent {
        completed(
            with: neededLine.flatMap { search?.lines[$0] }, isSearchComplete: search?.isComplete ?? true)
    }

    /// Returns the event with its line.
    ///
    /// It has no line when the line could not be written, or when the message ended before. The event has no
    /// line and is marked as truncated when the search did not reach the line, or the line is too large.
    func completed(with found: FoundLine?, isSearchComplete: Bool = true) -> StoreEvent {
        var event = self
        event.missingLine = nil
        guard missingLine != nil else {
            event.kind = kind ?? found?.kind
            return event
        }
        guard let found else {
            event.isTruncated = !isSearchComplete && name != .replyDeadLetter
            return event
        }
        event.at = found.at
        event.message = found.id
        event.kind = found.isInternal ? nil : found.kind
        if found.isInternal { event.name = .conversationNoted }
        event.sequence = found.sequence
        // A dead letter only names the line, because the event before it contains the line.
        guard name != .replyDeadLetter else { return event }
        event.line = found.text
        event.isTruncated = found.text == nil
        return event
    }
}

extension StoreEvent.Name {
    /// Returns the event for a change of an assignment, by the change's name in the journal; nil without one.
    fileprivate init?(change: String) {
        switch change {
        case "handOff": self = .conversationHandedOff
        case "place": self = .conversationQueued
        case "offer", "decline": self = .conversationOffered
        case "snooze": self = .conversationSnoozed
        case "claim", "take": self = .conversationClaimed
        case "release", "silence", "unclaimed": self = .conversationReleased
        case "close", "customerClose": self = .conversationClosed
        // The event of `customerMessage` is `message.received`; a copy repeats an earlier record.
        default: return nil
        }
    }
}
