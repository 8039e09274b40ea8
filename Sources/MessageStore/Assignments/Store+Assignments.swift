import BalloonPOSIX
package import BusinessMessages
import Dispatch

/// Reads and changes the assignments of conversations.
///
/// Changes, and the outcomes that handlers decide, are appended to the journal under one lock. Each of them
/// sees every earlier record, so the journal's order decides between concurrent ones.
extension Store {
    /// A conversation, and who answers in it.
    package struct AssignedConversation: Sendable {
        /// The business.
        package let business: BusinessID
        /// The customer.
        package let customer: CustomerID
        /// The assignment.
        package let assignment: Assignment

        init(_ key: ConversationKey, _ assignment: Assignment) {
            (business, customer, self.assignment) = (key.business, key.customer, assignment)
        }
    }

    /// Returns the assignment of a conversation; never blocks.
    ///
    /// The result is that of a conversation with its handler in two more cases: the conversation was closed
    /// long ago, or the customer closed it while the handler answered.
    package func assignment(of business: BusinessID, _ customer: CustomerID) -> Assignment {
        let key = ConversationKey(business: business, customer: customer)
        return journalState.withAssignments { $0.assignment(of: key) }
    }

    /// Calls `follower` for each later change of a state, a person or a queue, when it is durable.
    ///
    /// The call is on the journal's queue, and must return quickly. It must record the change as an
    /// ``InternalMessage/assignment(_:)``, or ``leaveUnrecorded(_:)``. Those that an earlier process has not recorded come first.
    package func followAssignments(
        _ follower: @escaping @Sendable (AssignedConversation) -> Void
    ) {
        journalState.follow { follower(AssignedConversation($0, $1)) }
    }

    /// Leaves a change without a line, as in a conversation of a business without people.
    package func leaveUnrecorded(_ change: AssignedConversation) {
        journalState.withState { $0.assignments.removeChange(change.assignment.record) }
    }

    /// The changes of assignments whose line is not recorded yet, in order.
    package var unrecordedAssignments: [AssignedConversation] {
        journalState.withState { $0.assignments.changes }.map {
            AssignedConversation($0.conversation, $0.assignment)
        }
    }

    /// The conversations that are with persons or wait for one, in no order; never blocks and opens no file.
    package var assignedConversations: [AssignedConversation] {
        journalState.withAssignments(\.entries).compactMap { key, entry in
            entry.assignment.isAssigned ? AssignedConversation(key, entry.assignment) : nil
        }
    }

    /// Returns the customers whose conversation is not with its handler and satisfies `isWanted`.
    package func heldConversations(
        of business: BusinessID, where isWanted: (Assignment) -> Bool
    ) -> [CustomerID] {
        journalState.withAssignments(\.entries).compactMap { key, entry in
            key.business == business && entry.assignment.state != .handler && isWanted(entry.assignment)
                ? key.customer : nil
        }
    }

    /// The numbers of waiting conversations and of those with a person, for each business that has any.
    ///
    /// Never blocks and opens no file.
    package var assignedCounts: [BusinessID: (waiting: Int, person: Int)] {
        journalState.withAssignments(\.entries).reduce(into: [:]) { counts, entry in
            switch entry.value.assignment.state {
            case .waiting: counts[entry.key.business, default: (0, 0)].waiting += 1
            case .person: counts[entry.key.business, default: (0, 0)].person += 1
            case .handler, .closed: break
            }
        }
    }

    /// Returns the numbers of a business's waiting conversations and of those with a person; never blocks.
    package func assignedCounts(of business: BusinessID) -> (waiting: Int, person: Int) {
        assignedCounts[business] ?? (0, 0)
    }

    /// Changes the assignment of a conversation; the change is durable when the new assignment is returned.
    ///
    /// A change to the current state succeeds without a record. `expected` is the record of the assignment
    /// that the caller saw; the change is refused when a later change was made. Throws
    /// ``StoreError/assignment(_:)`` for a refusal, and another ``StoreError`` when the change cannot be
    /// stored. A call that throws has changed nothing.
    package func assign(
        _ change: AssignmentChange, _ business: BusinessID, _ customer: CustomerID,
        expecting expected: UInt64? = nil
    ) async throws -> Assignment {
        try await assign(change, business, customer) { current, _ in
            expected ?? current.record == current.record ? nil : .changed
        }
    }

    /// Changes the assignment of a conversation unless `refusal` refuses the current assignment.
    ///
    /// `refusal` receives the current assignment, and whether the customer closed the conversation and has
    /// not written since. It is called under the lock that orders changes, and must not block. Throws
    /// what it returns. Apart from that, this function is like
    /// ``assign(_:_:_:expecting:)``.
    package func assign(
        _ change: AssignmentChange, _ business: BusinessID, _ customer: CustomerID,
        unless refusal: @escaping @Sendable (_ current: Assignment, _ isClosed: Bool) -> AssignmentRefusal?
    ) async throws -> Assignment {
        let key = ConversationKey(business: business, customer: customer)
        let context = try await assignmentContext(of: key)
        return try await withCheckedThrowingContinuation { continuation in
            assign(change, key, context, unless: refusal) { continuation.resume(with: $0) }
        }
    }

    /// Changes the assignment of a conversation; calls the completion once, when that is durable or refused.
    ///
    /// Blocks only while it reads the conversation's file; used in the `record` stage. The completion may run
    /// on the journal's queue, and must return quickly.
    package func assign(
        _ change: AssignmentChange, _ business: BusinessID, _ customer: CustomerID,
        completion: @escaping @Sendable (Result<Assignment, StoreError>) -> Void
    ) {
        let key = ConversationKey(business: business, customer: customer)
        do throws(StoreError) {
            assign(
                change, key, try readAssignmentContext(of: key), unless: { _, _ in nil },
                completion: completion)
        } catch {
            completion(.failure(error))
        }
    }

    /// Stores an outbound message that is not a handler's reply to an event; durable on return.
    ///
    /// It is sent in the order of its conversation. A person's message also claims the conversation in the
    /// same record; with `takes`, even when another person has it. A handler's or a program's message is
    /// refused while the conversation is with a person or waits for one. Throws ``StoreError/assignment(_:)``
    /// for a refusal.
    package func send(_ message: ReceivedMessage, takes: Bool = false) async throws -> AppendResult {
        let key = message.conversation
        let context = message.author?.person == nil ? nil : try await assignmentContext(of: key)
        return try await withCheckedThrowingContinuation { continuation in
            journalState.run(key, endingWatch: context != nil) { [self] table, closes in
                let context = context?.updated(closes, scheduler.closes(key))
                var claims = false
                // A duplicate of a stored message is neither refused nor a claim: both were decided for the
                // stored message.
                if !deduplicator.holds(message) {
                    switch table.claim(with: message, of: key, context, takes: takes) {
                    case .success(let isClaim): claims = isClaim
                    case .failure(let refusal):
                        return .done { continuation.resume(throwing: StoreError.assignment(refusal)) }
                    }
                }
                let isAppended = deduplicator.append(
                    message, claimedAt: claims ? context?.sequence : nil, to: journal, isPrompt: true
                ) { continuation.resume(returning: $0) }
                return claims && isAppended ? .appended(person: message.author?.person) : .done {}
            }
        }
    }

    /// Returns whether the delivery is left to a person; if so, end it with ``DeliveryResult/withPerson``.
    ///
    /// No handler may be called for such a delivery. Waits until the conversation's change in flight is
    /// durable or has failed.
    package func isWithPerson(_ delivery: Delivery) async -> Bool {
        if journalState.isUnassigned { return false }
        return await withCheckedContinuation { continuation in
            journalState.run(delivery.conversation) { table, _ in
                let isWithPerson = table.isWithPerson(delivery.record, of: delivery.conversation)
                return .done { continuation.resume(returning: isWithPerson) }
            }
        }
    }

    /// Returns whether the customer closed the conversation and has not written since.
    ///
    /// Reads the end of the conversation's file, unless an unfinished message of the customer decides the
    /// result.
    package func isClosedByCustomer(_ business: BusinessID, _ customer: CustomerID) throws -> Bool {
        try isClosedByCustomer(ConversationKey(business: business, customer: customer))
    }

    private func isClosedByCustomer(_ key: ConversationKey) throws(StoreError) -> Bool {
        if let closes = scheduler.closes(key) { return closes }
        // Messages that were not sent have lines too, so many lines may follow the close.
        return try conversations.isClosed(key, maximumBytes: Self.maximumSearchedBytes)
    }

    /// The number of bytes at a file's end that are searched for a close; an earlier close is ignored.
    static let maximumSearchedBytes = 16 << 20

    /// The facts in a conversation's file that a change depends on.
    struct AssignmentContext: Sendable {
        /// Whether the customer closed the conversation and has not written since.
        let isClosed: Bool
        /// The number that the conversation's next line will have.
        let sequence: Int

        /// Returns these facts, corrected by the customer's later messages.
        ///
        /// `closes` says whether the customer's latest durable message closes the conversation, and
        /// `unfinished` says it for the latest unfinished one. Each is nil without such a message.
        func updated(_ closes: Bool?, _ unfinished: Bool?) -> AssignmentContext {
            AssignmentContext(isClosed: closes ?? unfinished ?? isClosed, sequence: sequence)
        }
    }

    /// Starts a watch of the conversation and reads its file; the step of the change must end the watch.
    func readAssignmentContext(of key: ConversationKey) throws(StoreError) -> AssignmentContext {
        journalState.watch(key)
        do throws(StoreError) {
            let sequence = try conversations.end(of: key)?.lastSequence ?? 0
            return AssignmentContext(isClosed: try isClosedByCustomer(key), sequence: sequence + 1)
        } catch {
            journalState.unwatch(key)
            throw error
        }
    }

    /// Reads the context on a dispatch queue, so that no thread of the cooperative pool is blocked.
    func assignmentContext(of key: ConversationKey) async throws -> AssignmentContext {
        try await assignmentQueue.run { try self.readAssignmentContext(of: key) }
    }

    private func assign(
        _ change: AssignmentChange, _ key: ConversationKey, _ context: AssignmentContext,
        unless refusal: @escaping @Sendable (Assignment, Bool) -> AssignmentRefusal?,
        completion: @escaping @Sendable (Result<Assignment, StoreError>) -> Void
    ) {
        journalState.run(key, endingWatch: true) { [self] table, closes in
            let context = context.updated(closes, scheduler.closes(key))
            let current = table.assignment(of: key)
            if let refusal = refusal(current, context.isClosed) {
                return .done { completion(.failure(.assignment(refusal))) }
            }
            let at = Timestamp.now()
            switch table.applying(change, to: key, context, at: at) {
            case .unchanged: return .done { completion(.success(current)) }
            case .refused(let refusal): return .done { completion(.failure(.assignment(refusal))) }
            case .to(let next):
                return append(next, of: key, by: change.name, at: at, completion: completion)
            }
        }
    }

    /// Appends the assignment of a conversation after a change; runs under the lock of the state.
    ///
    /// The completion gets the assignment once it is durable.
    func append(
        _ next: Assignment, of key: ConversationKey, by change: String, at: Timestamp,
        completion: @escaping @Sendable (Result<Assignment, StoreError>) -> Void
    ) -> CurrentState.Step {
        do throws(StoreError) {
            try journal.append(
                JournalBody.assignment(next, of: key, by: change, at: at),
                for: .completion { result in completion(result.map { next.durable(as: $0.number) }) })
            return .appended(person: next.person)
        } catch {
            return .done { completion(.failure(error)) }
        }
    }
}

extension AssignmentTable {
    /// Returns the result of a change, with the point at which the handler stops answering.
    ///
    /// Refuses a change that would assign more than ``maximumAssigned`` conversations.
    func applying(
        _ change: AssignmentChange, to key: ConversationKey, _ context: Store.AssignmentContext,
        at: Timestamp
    ) -> Assignment.Transition {
        let current = assignment(of: key)
        let transition = current.applying(change, at: at, isClosed: context.isClosed)
        guard case .to(var next) = transition else { return transition }
        if next.isAssigned, !current.isAssigned, assignedCount >= maximumAssigned {
            return .refused(.tooMany(maximum: maximumAssigned))
        }
        next.record = 0
        if next.isAssigned, next.began == nil {
            next.began = Assignment.Beginning(record: 0, sequence: context.sequence)
        }
        return .to(next)
    }

    /// Returns whether an outbound message claims the conversation; a failure for a refusal.
    func claim(
        with message: ReceivedMessage, of key: ConversationKey, _ context: Store.AssignmentContext?,
        takes: Bool
    ) -> Result<Bool, AssignmentRefusal> {
        switch message.author {
        case .handler?, .program?:
            let refusal = assignment(of: key).refusal(ofProgramSending: message.outboundKind)
            return refusal.map { .failure($0) } ?? .success(false)
        case .person(let person?)?:
            guard let context else { return .success(false) }
            let change = AssignmentChange.claim(person, takes: takes)
            switch applying(change, to: key, context, at: message.receivedAt) {
            case .to: return .success(true)
            case .unchanged: return .success(false)
            case .refused(let refusal): return .failure(refusal)
            }
        case .person(nil)?, .unnamedPerson?, .server?, nil: return .success(false)
        }
    }

    /// Returns the hand-off that an outcome makes; nil for another outcome.
    ///
    /// The result is also nil when the hand-off changes nothing: a person has the conversation, it waits for
    /// one, or the customer closed it.
    func handOff(
        _ outcome: DecidedOutcome, of key: ConversationKey, _ context: Store.AssignmentContext, at: Timestamp
    ) throws(StoreError) -> AssignmentRecord? {
        guard outcome.result.status == .handedOff else { return nil }
        let change = AssignmentChange.handOff(
            reason: outcome.result.reason, isAnnounced: !outcome.replies.isEmpty, outcome.placement,
            note: outcome.note)
        switch applying(change, to: key, context, at: at) {
        case .to(let next): return AssignmentRecord(conversation: key, assignment: next, endedIn: nil)
        case .unchanged: return nil
        case .refused(let refusal): throw .assignment(refusal)
        }
    }
}

extension Assignment {
    /// Returns the assignment after a claim that the running store has allowed before.
    func claimed(by person: Person, at: Timestamp, sequence: Int) -> Assignment {
        guard case .to(var next) = applying(.claim(person, takes: true), at: at) else { return self }
        if next.began == nil { next.began = Beginning(record: 0, sequence: sequence) }
        return next
    }

    /// Returns the assignment with the number of the record that stored it.
    func durable(as record: UInt64) -> Assignment {
        var assignment = self
        assignment.record = record
        if let began, began.record == 0 {
            assignment.began = Beginning(record: record, sequence: began.sequence)
        }
        return assignment
    }
}

extension Store {
    /// Returns whether a message in the `record` stage is left to a person, by the durable changes only.
    package func isWithPerson(_ message: UnrecordedMessage) -> Bool {
        journalState.withAssignments { $0.isWithPerson(message.record, of: message.lease.conversation) }
    }
}
