import BalloonJSON
package import BalloonPOSIX

/// A change of the assignment of a conversation.
package enum AssignmentChange: Hashable, Sendable {
    /// The handler asks for a person, or the customer does so with a configured word.
    ///
    /// The handler may name a queue, about which the rules decide later, and write a note.
    case handOff(reason: String?, isAnnounced: Bool = false, Placement? = nil, note: String? = nil)
    /// A person claims the conversation; with `takes`, even when another person has it.
    case claim(Person, takes: Bool = false)
    /// The person ends the work: the handler answers again.
    case releaseToHandler(note: String? = nil)
    /// The person ends the work: the conversation waits for another person, in the queue where it was or in another one, or
    /// with an offer to a person.
    case releaseToWaiting(note: String? = nil, Placement? = nil, offer: Offer? = nil)
    /// The server offers a waiting conversation to a person.
    case offer(Offer)
    /// The person declines the offer.
    case decline(Person)
    /// The person puts the conversation aside until a time or the customer's next message; nil ends that.
    case snooze(until: Timestamp?)
    /// The server puts a waiting conversation into a queue.
    case place(Placement)
    /// The person has given no sign of life since this time: the conversation waits for another person.
    case silence(since: Timestamp)
    /// The wait for a person lasted too long: the handler answers again.
    case unclaimed
    /// The business closes the conversation.
    case close
    /// The customer closes the conversation.
    case customerClose
    /// The customer writes a message.
    case customerMessage

    /// The name of the change in its journal record.
    var name: String {
        switch self {
        case .handOff: "handOff"
        case .claim(_, let takes): takes ? "take" : "claim"
        case .releaseToHandler, .releaseToWaiting: "release"
        case .place: "place"
        case .offer: "offer"
        case .decline: "decline"
        case .snooze: "snooze"
        case .silence: "silence"
        case .unclaimed: "unclaimed"
        case .close: "close"
        case .customerClose: "customerClose"
        case .customerMessage: "customerMessage"
        }
    }
}

/// The reason why a change of an assignment is refused; a refused change has no effect.
package enum AssignmentRefusal: Error, Hashable, Sendable {
    /// The customer closed the conversation: nothing can be sent until the customer writes again.
    case closed
    /// Another person has the conversation.
    case claimed(by: Person)
    /// A person has the conversation, or it waits for one: no program may write to the customer.
    case withPerson(Person?)
    /// The conversation is with its handler, so there is nothing to release.
    case nothingToRelease
    /// The conversation has changed since the caller read it.
    case changed
    /// The limit of conversations that are with a person or wait for one is reached.
    case tooMany(maximum: Int)
}

extension AssignmentRefusal: CustomStringConvertible {
    /// The refusal in one line, for logs and answers.
    package var description: String {
        switch self {
        case .closed: "the customer has closed the conversation and not written since"
        case .claimed(let person): "\(person) has the conversation"
        case .withPerson(let person?): "\(person) has the conversation, and no program may write"
        case .withPerson(nil): "the conversation waits for a person, and no program may write"
        case .nothingToRelease: "the conversation is with its handler"
        case .changed: "the conversation has changed"
        case .tooMany(let maximum): "the limit of \(maximum) claimed and waiting conversations is reached"
        }
    }
}

extension Person: CustomStringConvertible {
    /// The name and identifier, such as `Ana (agent-7)`; the identifier alone without a name.
    package var description: String { name.map { "\($0) (\(id))" } ?? id }
}

extension Assignment {
    /// The result of a change.
    enum Transition: Hashable {
        /// The assignment after the change; `record` still has the value of the previous assignment.
        case to(Assignment)
        /// The conversation is already in the state that the change leads to, so no record is needed.
        case unchanged
        case refused(AssignmentRefusal)
    }

    /// Returns the assignment after `change`, or a refusal; only this function decides what is allowed.
    ///
    /// The function has no side effects. `at` is the time of the change. `isClosed` says whether the customer
    /// closed the conversation and has not written since. The caller sets `record`, and sets `began` when it
    /// is nil.
    func applying(_ change: AssignmentChange, at: Timestamp, isClosed: Bool = false) -> Transition {
        switch (state, change) {
        // A person cannot write to a customer who has closed the conversation.
        case (.handler, .handOff) where isClosed, (.closed, .handOff) where isClosed: return .unchanged
        case (.handler, .claim) where isClosed, (.closed, .claim) where isClosed: return .refused(.closed)

        case (.handler, .handOff(let reason, let isAnnounced, let placement, let note)),
            (.closed, .handOff(let reason, let isAnnounced, let placement, let note)):
            var next = self.next(.waiting, at)
            next.reason = reason?.cut(toBytes: Self.maximumTextBytes)
            // An earlier note was about what a person knew before the handler answered again.
            next.note = note?.cut(toBytes: Self.maximumTextBytes)
            next.placement = placement
            next.isAnnounced = isAnnounced
            // Texts that are sent once for each hand-off are due again; the handler's next event names the same first line.
            next.began = began.map { Beginning(record: 0, sequence: $0.sequence) }
            return .to(next)
        case (.waiting, .handOff), (.person, .handOff): return .unchanged

        case (.handler, .claim(let person, _)), (.closed, .claim(let person, _)):
            var next = claimed(by: person, at)
            next.reason = nil
            return .to(next)
        case (.waiting, .claim(let person, _)): return .to(claimed(by: person, at))
        case (.person, .claim(let person, let takes)):
            guard let current = self.person else { return .to(claimed(by: person, at)) }
            if current.id == person.id { return .unchanged }
            return takes ? .to(claimed(by: person, at)) : .refused(.claimed(by: current))

        case (.person, .releaseToHandler(let note)), (.waiting, .releaseToHandler(let note)):
            var next = self.next(.handler, at)
            next.reason = nil
            next.note = note?.cut(toBytes: Self.maximumTextBytes)
            return .to(next)
        case (.waiting, .place(let placement)):
            // The first queue of a conversation that a person transfers to another one keeps the offer.
            return .to(waiting(placement, self.placement?.rule == nil ? offer : nil, at))
        case (.waiting, .releaseToWaiting(let note, let placement, let offer))
        where placement != nil || offer != nil:
            var next = waiting(placement, offer, at)
            next.note = note?.cut(toBytes: Self.maximumTextBytes) ?? next.note
            return .to(next)
        case (.waiting, .offer(let offer)): return .to(waiting(nil, offer, at))
        case (.waiting, .decline(let person)) where offer?.person?.id == person.id:
            var next = waiting(nil, offer, at)
            next.offer?.person = nil
            return .to(next)
        case (_, .place), (_, .offer), (_, .decline): return .refused(.changed)

        case (.person, .snooze(let until)):
            guard until != snoozedUntil else { return .unchanged }
            var next = self
            (next.snoozedUntil, next.lastSeen) = (until, at)
            return .to(next)
        case (.handler, .snooze), (.waiting, .snooze), (.closed, .snooze): return .refused(.changed)

        case (.person, .releaseToWaiting(let note, let placement, let offer)):
            var next = self.next(.waiting, at)
            if var placement {
                placement.since = at
                next.placement = placement
            }
            next.offer = offer
            next.note = note?.cut(toBytes: Self.maximumTextBytes)
            // The customer talks with a person already, so no text about that is sent again.
            next.isAnnounced = true
            return .to(next)
        case (.waiting, .releaseToWaiting): return .unchanged
        case (.handler, .releaseToHandler), (.handler, .releaseToWaiting), (.closed, .releaseToHandler),
            (.closed, .releaseToWaiting):
            return .refused(.nothingToRelease)

        case (.person, .silence(let since)):
            // After the caller read the assignment, the person wrote or another person claimed the conversation.
            if let lastSeen, lastSeen > since { return .refused(.changed) }
            return .to(next(.waiting, at))
        case (.waiting, .silence), (.handler, .silence), (.closed, .silence): return .refused(.changed)

        case (.waiting, .unclaimed): return .to(next(.handler, at))
        case (.person, .unclaimed), (.handler, .unclaimed), (.closed, .unclaimed): return .refused(.changed)

        case (.closed, .close): return .unchanged
        case (.handler, .close), (.waiting, .close), (.person, .close): return .to(next(.closed, at))
        case (.waiting, .customerClose), (.person, .customerClose): return .to(next(.closed, at))
        // While the handler answers, the close in the conversation's file suffices, and no entry is needed.
        case (.handler, .customerClose), (.closed, .customerClose): return .unchanged

        case (.closed, .customerMessage): return .to(next(.handler, at))
        case (.person, .customerMessage) where snoozedUntil != nil:
            var next = self
            (next.snoozedUntil, next.lastSeen) = (nil, at)
            return .to(next)
        case (.handler, .customerMessage), (.waiting, .customerMessage), (.person, .customerMessage):
            return .unchanged
        }
    }

    /// Returns this waiting assignment in another queue, or with another offer; the wait itself continues.
    private func waiting(_ placement: Placement?, _ offer: Offer?, _ at: Timestamp) -> Assignment {
        var next = self
        next.waitBegan = stateRecord
        next.offer = offer
        if var placement {
            placement.since = at
            next.placement = placement
            next.unanswered = unanswered ?? Unanswered(since: since ?? at, isFirst: true)
        }
        return next
    }

    private func claimed(by person: Person, _ at: Timestamp) -> Assignment {
        var next = self.next(.person, at)
        next.person = person
        next.lastSeen = at
        return next
    }

    /// Returns this assignment in another state, without the person, `lastSeen` and `isAnnounced`.
    ///
    /// A conversation that comes back from a person waits in the same queue again.
    private func next(_ state: State, _ at: Timestamp) -> Assignment {
        var next = self
        next.state = state
        next.since = at
        next.person = nil
        next.lastSeen = nil
        next.isAnnounced = false
        (next.waitBegan, next.offer, next.snoozedUntil) = (nil, nil, nil)
        if !next.isAssigned { (next.placement, next.unanswered) = (nil, nil) }
        if state == .waiting { next.placement?.since = at }
        return next
    }
}
