import BalloonPOSIX
import MessageStore

/// Computes the due steps of a conversation that a person has or that waits for a person.
///
/// The steps depend only on durable times and on the settings.
struct AssignmentDeadlines: Sendable {
    /// A step that is due.
    enum Step: Hashable, Sendable {
        /// The customer is told that a person answers soon.
        case sayText
        /// The customer is told that nobody is free yet.
        case sayUnclaimedText
        /// The conversation returns to its handler, because no person claimed it in time.
        case returnToHandler
        /// The conversation waits for another person, because the current person has been silent too long.
        ///
        /// `lastSeen` is the time at which that person was last active.
        case waitAgain(lastSeen: Timestamp)
    }

    /// How long a person who types is expected to send a message.
    static let typingTime = Duration.seconds(60)

    /// The business's settings; nil for a business without `people`, which uses the default times and sends no texts.
    let people: PeopleConfiguration?

    /// Returns the due steps in the order in which to take them, including steps that the caller has already
    /// taken.
    ///
    /// `sign` is the last sign of life of a person that is not in the assignment. While it is newer than
    /// ``typingTime``, no text is due: the person answers just now.
    ///
    /// For a conversation that has waited too long, the only step is the return to its handler. The texts for
    /// waiting customers would then be wrong.
    func steps(for assignment: Assignment, at now: Timestamp, sign: Timestamp? = nil) -> [Step] {
        guard let since = assignment.since else { return [] }
        let people = people ?? PeopleConfiguration(text: "")
        switch assignment.state {
        case .handler, .closed: return []
        case .person:
            let lastSeen = max(assignment.lastSeen ?? since, sign ?? since)
            return lastSeen.advanced(by: people.silentTime) <= now ? [.waitAgain(lastSeen: lastSeen)] : []
        case .waiting:
            if since.advanced(by: people.returnTime) <= now { return [.returnToHandler] }
            if self.people == nil { return [] }
            if let sign, sign.advanced(by: Self.typingTime) > now { return [] }
            let isLate = people.unclaimedText != nil && since.advanced(by: people.unclaimedTime) <= now
            return (assignment.isAnnounced ? [] : [.sayText]) + (isLate ? [.sayUnclaimedText] : [])
        }
    }
}
