import BalloonPOSIX
import MessageStore

/// Computes the due steps of a conversation that a person has or that waits for a person.
///
/// The steps depend only on durable times and on the settings. With hours all times count opening time only.
struct AssignmentDeadlines: Sendable {
    /// A step that is due.
    enum Step: Hashable, Sendable {
        /// The customer is told that a person answers soon.
        case sayText
        /// The customer is told that another person answers.
        case sayTransferText
        /// The customer is told that nobody is free yet.
        case sayUnclaimedText
        /// The conversation returns to its handler, because no person claimed it in time.
        case returnToHandler
        /// The conversation waits for another person, because the current person has been silent too long.
        ///
        /// `lastSeen` is the time at which that person was last active.
        case waitAgain(lastSeen: Timestamp)
        /// The time until which the person has put the conversation aside is over.
        case endSnooze
        /// The rules choose the queue of the conversation.
        case chooseQueue
        /// The customer has waited longer than the target of the queue for an answer, since this time.
        case sayOverdue(since: Timestamp)
        /// The conversation moves to another queue, because it has waited too long.
        case overflow(Placement)
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
        let opening = people.openingTime(of: people.queue(of: assignment))
        switch assignment.state {
        case .handler, .closed: return []
        case .person:
            if let until = assignment.snoozedUntil {
                return until > now ? overdueSteps(for: assignment, at: now) : [.endSnooze]
            }
            let lastSeen = max(assignment.lastSeen ?? since, sign ?? since)
            // While it is closed a customer is not told that another person answers.
            return opening.isOver(people.silentTime, since: lastSeen, at: now) && opening.isOpen(at: now)
                ? [.waitAgain(lastSeen: lastSeen)] : overdueSteps(for: assignment, at: now)
        case .waiting:
            if opening.isOver(people.returnTime, since: since, at: now) { return [.returnToHandler] }
            if self.people == nil { return [] }
            if let step = queueStep(for: assignment, at: now) { return [step] }
            let overdue = overdueSteps(for: assignment, at: now)
            let isTransfer =
                assignment.isTransferred && people.text(.transfer, in: people.queue(of: assignment)) != nil
            let transfer: [Step] = isTransfer ? [.sayTransferText] : []
            // A person who transfers has given the last sign, so that it does not delay this text.
            if let sign, sign.advanced(by: Self.typingTime) > now { return transfer + overdue }
            let isLate =
                people.text(.unclaimed, in: people.queue(of: assignment)) != nil
                && opening.isOver(people.unclaimedTime, since: since, at: now) && opening.isOpen(at: now)
            return transfer + (assignment.isAnnounced ? [] : [.sayText]) + (isLate ? [.sayUnclaimedText] : [])
                + overdue
        }
    }

    private func overdueSteps(for assignment: Assignment, at now: Timestamp) -> [Step] {
        guard people?.isOverdue(assignment, at: now) == true, let since = assignment.unanswered?.since
        else { return [] }
        return [.sayOverdue(since: since)]
    }

    /// The change of the queue that is due; it precedes every text, and the steps after it are computed from its result.
    private func queueStep(for waiting: Assignment, at now: Timestamp) -> Step? {
        guard let queue = people?.queue(of: waiting) else { return nil }
        guard let placement = waiting.placement, placement.rule != nil else { return .chooseQueue }
        guard let overflow = queue.overflow, let since = placement.since ?? waiting.since,
            people?.openingTime(of: queue).isOver(overflow.time, since: since, at: now) == true
        else { return nil }
        return .overflow(
            Placement(queue: overflow.queue, priority: placement.priority, rule: "overflow of \(queue.id)"))
    }
}
