import BalloonPOSIX
import BusinessMessages
import Dispatch
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// Watches the conversations that a person has or that wait for a person.
///
/// The watch sends the texts of the setting `people`. It returns a conversation to its handler when no person
/// claims it in time, and lets it wait again when its person is silent for too long. Every step is computed
/// from an assignment in the store and its durable times. The id of every text is derived from a record of
/// that assignment. A restart therefore neither repeats nor forgets a step.
final class AssignmentWatch: Sendable {
    /// The steps that were taken since a conversation waits or a person has it, and the steps that failed at least once.
    private struct Told {
        let record: UInt64
        var steps: Set<AssignmentDeadlines.Step> = []
        var failed: Set<AssignmentDeadlines.Step> = []
    }

    /// The last sign of life of a person in a conversation that the journal does not have.
    private struct Sign {
        var at: Timestamp
        /// The number of the last line of the customer's that counts as read.
        var readLine = 0
    }

    let settings: PeopleSettings
    let presence: PeoplePresence
    let availability = Availability()
    /// The deliveries that wait for their handler.
    let waits = HandlerWaits()
    /// Records hand-offs.
    let figures: FiguresRecorder
    let store: Store
    private let lines: AssignmentLines
    private let opening: Opening
    private let logger: Logger
    private let told = Mutex<[ConversationID: Told]>([:])
    private let signs = Mutex<[ConversationID: Sign]>([:])
    /// Called for each customer who waits longer than the target of the queue, with the begin of the wait.
    ///
    /// It is called once for each wait and state; a restart may repeat it.
    private let didBecomeOverdue: @Sendable (ConversationID, Timestamp) -> Void
    let startedAt = Timestamp.now()
    private let (wakeups, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let timers = DispatchQueue(label: "balloon.assignments.watch")
    private let isStopped = Atomic(false)

    /// The number of conversations whose queue is chosen while a person asks for the next one.
    private static let maximumChoices = 100
    /// The pause between two checks of the assigned conversations.
    private static let pause = Duration.seconds(1)
    /// The minimum pause between two checks, also after ``wakeUp()``.
    private static let shortestPause = Duration.milliseconds(20)
    /// The inverse of the largest part of the time that checks may take: the pause after a slow check is 19
    /// times as long, without the steps of the check, for which people and customers wait.
    private static let parts = 20

    init(
        store: Store, opening: Opening, settings: PeopleSettings, presence: PeoplePresence,
        figures: FiguresRecorder, logger: Logger,
        didBecomeOverdue: @escaping @Sendable (ConversationID, Timestamp) -> Void = { _, _ in }
    ) {
        self.store = store
        self.opening = opening
        self.figures = figures
        self.settings = settings
        self.presence = presence
        self.logger = logger
        self.didBecomeOverdue = didBecomeOverdue
        // People see each change at its place of the thread.
        let later: AssignmentLines.Timer = { [timers] in
            timers.asyncAfter(deadline: .now() + AssignmentLines.pause.dispatchInterval, execute: $0)
        }
        lines = AssignmentLines(
            later: later, unrecorded: { [weak store] in store?.unrecordedAssignments ?? [] }
        ) { [weak store] change, completion in
            guard let store else { return completion(.failed(.closed)) }
            let name = ConversationID(business: change.business, customer: change.customer)
            store.beginRecording(
                .assignment(change.assignment), by: .server,
                as: Self.id(of: "assignment", about: change.assignment.record, in: name, of: store.identity),
                of: change.business, change.customer
            ) { result in
                // An earlier version recorded the line, which did not name its change.
                if result == .duplicate { store.leaveUnrecorded(change) }
                completion(result)
            }
        }
        store.followAssignments { [weak self, weak store, lines, settings] change in
            self?.figures.record(change.assignment, of: change.business)
            guard settings[change.business] != nil else { store?.leaveUnrecorded(change); return }
            lines.record(change)
        }
    }

    /// Returns how many conversations of a business wait for a person, and how many a person has.
    func counts(of business: BusinessID) -> (waiting: Int, person: Int) { store.assignedCounts(of: business) }

    /// The numbers of the queues of a business.
    func queues(of business: BusinessID, at now: Timestamp = .now()) -> [QueueFigures] {
        settings[business].map { QueueFigures.all($0, assigned(of: business), at: now) } ?? []
    }

    /// The assignments of the conversations of a business that a person has or that wait.
    func assigned(of business: BusinessID) -> [Assignment] {
        store.assignedConversations.filter { $0.business == business }.map(\.assignment)
    }

    /// Records that a person types in a conversation, or claims it again.
    ///
    /// Such signs are kept in memory only: a restart forgets them. Those of a person who only watches do not count.
    func recordSign(in name: ConversationID, by person: Person? = nil, at now: Timestamp = .now()) {
        guard mayAnswer(person, in: name) else { return }
        signs.withLock { $0[name, default: Sign(at: now)].at = now }
    }

    /// Records that a person reads a conversation up to this line of its customer; a line counts once.
    func recordReading(
        of line: Int, in name: ConversationID, by person: Person? = nil, at now: Timestamp = .now()
    ) {
        guard mayAnswer(person, in: name) else { return }
        signs.withLock { signs in
            var sign = signs[name] ?? Sign(at: now)
            guard line > sign.readLine else { return }
            (sign.readLine, sign.at) = (line, now)
            signs[name] = sign
        }
    }

    /// Whether a person, who may be unknown, has the conversation, or nobody has it.
    private func mayAnswer(_ person: Person?, in name: ConversationID) -> Bool {
        guard let person, let holder = store.assignment(of: name.business, name.customer).person else {
            return true
        }
        return person.id == holder.id
    }

    /// The last sign of life that the journal does not have; nil without one.
    private func sign(in name: ConversationID) -> Timestamp? { signs.withLock { $0[name]?.at } }

    /// Makes ``run()`` check the assigned conversations now.
    func wakeUp() { wake.yield() }

    /// Takes the due steps of all assigned conversations, until ``stop()``.
    func run() async {
        wakeUp()
        for await _ in wakeups {
            let began = ContinuousClock.now
            let steps = await look(at: .now())
            let cost = ContinuousClock.now - began - steps
            let isRunning = await store.pause(for: max(cost * (Self.parts - 1), Self.shortestPause))
            guard isRunning else { return }
            timers.asyncAfter(deadline: .now() + Self.pause.dispatchInterval) { [wake] in wake.yield() }
        }
    }

    /// Ends ``run()``, after the present step.
    func stop() {
        isStopped.store(true, ordering: .relaxed)
        wake.finish()
    }

    /// Takes the steps that are due at `now`, and returns the time that they took.
    @discardableResult
    func look(at now: Timestamp) async -> Duration {
        var time = Duration.zero
        let assigned = store.assignedConversations
        forgetOthers(than: assigned)
        for conversation in assigned {
            if isStopped.load(ordering: .relaxed) { return time }
            let name = ConversationID(business: conversation.business, customer: conversation.customer)
            waits.end(in: name)
            let assignment = conversation.assignment
            if assignment.state == .waiting { figures.record(assignment, of: conversation.business) }
            let steps = AssignmentDeadlines(people: settings[conversation.business])
                .steps(for: assignment, at: now, sign: sign(in: name))
            for step in steps where !wasTaken(step, in: name, assignment) {
                let began = ContinuousClock.now
                defer { time += ContinuousClock.now - began }
                do {
                    try await take(step, in: name, assignment, at: now)
                } catch StoreError.assignment {
                    // The conversation has changed since it was listed; the next check uses the new
                    // assignment.
                } catch {
                    // The next check, or the next process of the server, takes the step.
                    log(error, of: step, in: name, assignment)
                }
            }
        }
        await offer(assigned, at: now)
        return time
    }

    /// Offers the waiting conversations of each business to the persons who are available, in their order.
    private func offer(_ assigned: [Store.AssignedConversation], at now: Timestamp) async {
        for (business, conversations) in Dictionary(grouping: assigned, by: \.business) {
            guard let people = settings[business], people.queues.contains(where: { $0.acceptTime != nil })
            else { continue }
            for conversation in conversations {
                guard let offer = conversation.assignment.offer, let person = offer.person, offer.until <= now
                else { continue }
                availability.missed(person, until: offer.until, in: business)
            }
            let available = availability.persons(of: business, at: now)
                .filter { $0.state == .available }.map(\.person)
            if available.isEmpty { continue }
            var offering = Offering(
                people, available: available, conversations.map(\.assignment), at: now)
            let waiting = store.waitingConversations(of: business) { waiting, _ in
                people.priority(of: waiting, for: nil)
            }
            for conversation in waiting.conversations where !isStopped.load(ordering: .relaxed) {
                guard let offer = offering.next(for: conversation.assignment) else { continue }
                do {
                    _ = try await store.assign(
                        .offer(offer), business, conversation.customer,
                        expecting: conversation.assignment.record)
                } catch {
                    // The conversation has changed, or the disk failed; the next check decides again.
                    logger.debug("offer not made", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Logs the first failure of each step as a warning, unless the whole store fails, which the store logs
    /// itself.
    private func log(
        _ error: any Error, of step: AssignmentDeadlines.Step, in name: ConversationID,
        _ assignment: Assignment
    ) {
        var level = Logger.Level.debug
        switch error {
        case StoreError.closed, StoreError.notDurable, StoreError.overloaded: break
        default:
            let isFirst = change(name, assignment) { $0.failed.insert(step).inserted }
            if isFirst { level = .warning }
        }
        logger.log(
            level: level, "step of a hand-off failed; it is retried every second",
            metadata: [
                "business": "\(name.business.rawValue)", "assignment": "\(assignment.record)",
                "error": "\(error)",
            ])
    }

    private func take(
        _ step: AssignmentDeadlines.Step, in name: ConversationID, _ assignment: Assignment,
        at now: Timestamp
    ) async throws {
        let metadata: Logger.Metadata = [
            "business": "\(name.business.rawValue)", "assignment": "\(assignment.record)",
        ]
        switch step {
        case .sayText, .sayTransferText:
            guard let people = settings[name.business] else { return }
            try await say(
                text(
                    step == .sayText ? .wait : .transfer, people, people.queue(of: assignment), in: name,
                    at: now),
                step, step == .sayText ? "text" : "transfer", about: assignment.stateRecord, in: name,
                assignment)
        case .sayUnclaimedText:
            // While no person is available, the text would promise an answer that does not come.
            let isClosed = presence.presence(of: name.business, at: now).closedText != nil
            let people = settings[name.business]
            var text: String?
            if !isClosed, let unclaimed = people?.text(.unclaimed, in: people?.queue(of: assignment)) {
                text = unclaimed.text(for: try await locale(for: unclaimed, in: name))
            }
            // Once for each hand-off, also when a person has released the conversation to another one.
            let began = assignment.began?.record ?? assignment.record
            try await say(text, step, "unclaimedText", about: began, in: name, assignment)
        case .returnToHandler:
            _ = try await store.assign(
                .unclaimed, name.business, name.customer, expecting: assignment.record)
            logger.warning(
                "no person took the conversation in time; its handler answers again", metadata: metadata)
        case .waitAgain(let lastSeen):
            _ = try await store.assign(
                .silence(since: lastSeen), name.business, name.customer, expecting: assignment.record)
            logger.warning(
                "the person who answers a conversation was silent for too long; the conversation waits for another person",
                metadata: metadata)
        case .endSnooze:
            _ = try await store.assign(
                .snooze(until: nil), name.business, name.customer, expecting: assignment.record)
        case .chooseQueue:
            guard let people = settings[name.business] else { return }
            let wish = assignment.placement
            if let queue = wish?.queue, !people.queues.contains(where: { $0.id == queue }) {
                logger.warning("the handler named an unknown queue; the rules decide", metadata: metadata)
            }
            try await place(
                route(people, in: name, wish: wish, at: now), in: name, assignment)
        case .overflow(let placement): try await place(placement, in: name, assignment)
        case .sayOverdue(let since):
            didBecomeOverdue(name, since)
            recordTaken(step, in: name, assignment)
        }
    }

    /// Chooses the queues of conversations that have just begun to wait, without which no person gets them next.
    func chooseQueues(of business: BusinessID) async {
        guard let people = settings[business], !people.queues.isEmpty else { return }
        let waiting = store.waitingConversations(of: business, limit: Self.maximumChoices) { waiting, _ in
            waiting.placement?.rule == nil ? 0 : nil
        }
        for conversation in waiting.conversations {
            let name = ConversationID(business: business, customer: conversation.customer)
            // Another change came first, or ``run()`` repeats and logs what failed.
            try? await take(.chooseQueue, in: name, conversation.assignment, at: .now())
        }
    }

    private func place(
        _ placement: Placement, in name: ConversationID, _ assignment: Assignment
    ) async throws {
        _ = try await store.assign(
            .place(placement), name.business, name.customer, expecting: assignment.record)
        // The steps after it are due at once.
        wakeUp()
    }

    /// Sends a text about an assignment unless it was sent before, and records the step as taken.
    private func say(
        _ text: String?, _ step: AssignmentDeadlines.Step, _ purpose: String, about record: UInt64,
        in name: ConversationID, _ assignment: Assignment
    ) async throws {
        guard let text else { return recordTaken(step, in: name, assignment) }
        let id = Self.id(of: purpose, about: record, in: name, of: store.identity)
        guard try await !wasSaid(id, in: name, assignment) else {
            return recordTaken(step, in: name, assignment)
        }
        try await opening.send(in: name)
        try await append(.text(text), id, in: name, by: .server)
        recordTaken(step, in: name, assignment)
    }

    private func wasTaken(
        _ step: AssignmentDeadlines.Step, in name: ConversationID, _ assignment: Assignment
    ) -> Bool {
        told.withLock { told in
            guard let known = told[name], known.record == assignment.stateRecord else { return false }
            return known.steps.contains(step)
        }
    }

    private func recordTaken(
        _ step: AssignmentDeadlines.Step, in name: ConversationID, _ assignment: Assignment
    ) {
        change(name, assignment) { _ = $0.steps.insert(step) }
    }

    private func change<Result: Sendable>(
        _ name: ConversationID, _ assignment: Assignment, _ body: (inout Told) -> Result
    ) -> Result {
        told.withLock { told in
            var known = told[name] ?? Told(record: assignment.stateRecord)
            if known.record != assignment.stateRecord { known = Told(record: assignment.stateRecord) }
            defer { told[name] = known }
            return body(&known)
        }
    }

    /// Forgets the steps of conversations that are no longer assigned, to bound the memory.
    private func forgetOthers(than assigned: [Store.AssignedConversation]) {
        told.withLock { told in
            guard told.count > assigned.count else { return }
            let names = Set(assigned.map { ConversationID(business: $0.business, customer: $0.customer) })
            told = told.filter { names.contains($0.key) }
        }
        signs.withLock { signs in
            guard signs.count > assigned.count else { return }
            let names = Set(assigned.map { ConversationID(business: $0.business, customer: $0.customer) })
            signs = signs.filter { names.contains($0.key) }
        }
    }
}
