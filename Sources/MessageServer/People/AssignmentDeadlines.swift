import BalloonPOSIX
import MessageStore

/// Computes which steps are due in a conversation that a person has or that waits for a person, from durable times
/// alone.
struct AssignmentDeadlines: Sendable {
    /// A step that is due.
    enum Step: Hashable, Sendable {
        /// The customer is told that a person answers soon.
        case sayText
        /// The customer is told that nobody is free yet.
        case sayUnclaimedText
        /// The handler answers again, because nobody claimed the conversation.
        case returnToHandler
        /// The conversation waits for another person, because its person was last seen at this time and has been silent
        /// too long.
        case waitAgain(lastSeen: Timestamp)
    }

    /// The business's settings; nil for a business without `people`, which uses the default times and sends no texts.
    let people: PeopleConfiguration?

    /// Returns the steps that are due, in their order, also those that the caller has taken already.
    ///
    /// A conversation that has waited too long only returns to its handler: the texts for waiting customers would be
    /// wrong then.
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
