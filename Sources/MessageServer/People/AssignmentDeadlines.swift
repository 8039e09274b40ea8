import BalloonPOSIX
import MessageStore

/// The deadlines of a conversation that a person has, or that waits for one: a function of durable times alone.
struct AssignmentDeadlines: Sendable {
    /// A step that is due.
    enum Step: Hashable, Sendable {
        /// The customer is told that a person answers soon.
        case sayText
        /// The customer is told that nobody is free yet.
        case sayUnclaimedText
        /// The handler answers again, because nobody claimed the conversation.
        case returnToHandler
        /// The conversation waits for another person, because its own was last seen then.
        case waitAgain(lastSeen: Timestamp)
    }

    /// The settings; nil uses the default times.
    let people: PeopleConfiguration?

    /// The steps that are due, in their order; a caller that already took one ignores it.
    ///
    /// A conversation that waited too long returns to its handler: its texts, if they were never said, would be wrong.
    func steps(for assignment: Assignment, at now: Timestamp) -> [Step] {
        guard let since = assignment.since else { return [] }
        let people = people ?? PeopleConfiguration(text: "")
        switch assignment.state {
        case .handler, .closed: return []
        case .person:
            let lastSeen = assignment.lastSeen ?? since
            return lastSeen.advanced(by: people.silentTime) <= now ? [.waitAgain(lastSeen: lastSeen)] : []
        case .waiting:
            if since.advanced(by: people.returnTime) <= now { return [.returnToHandler] }
            if self.people == nil { return [] }
            let isLate = people.unclaimedText != nil && since.advanced(by: people.unclaimedTime) <= now
            return (assignment.isAnnounced ? [] : [.sayText]) + (isLate ? [.sayUnclaimedText] : [])
        }
    }
}
