import BusinessMessages
import MessageStore
import Synchronization

extension AssignmentWatch {
    /// Changes the assignment of a conversation as ``Store/assign(_:_:_:unless:)`` does, and then does what follows.
    ///
    /// A claim is a sign of life, and sends the person's first words if it should. The end of a person's work asks the
    /// survey, and any other change ends the wait of a delivery for its handler.
    func assign(
        _ change: AssignmentChange, in name: ConversationID, saysOpening: Bool = false,
        unless refusal: (@Sendable (_ current: Assignment, _ isClosed: Bool) -> AssignmentRefusal?)? = nil
    ) async throws -> Assignment {
        let before = Mutex(Assignment.handler)
        let assignment = try await store.assign(change, name.business, name.customer) { current, isClosed in
            before.withLock { $0 = current }
            return refusal?(current, isClosed)
        }
        if case .claim = change { recordSign(in: name) }
        if saysOpening { try await sayOpening(in: name, assignment) }
        if assignment.isAssigned {
            waits.end(in: name)
            wakeUp()
        } else {
            try await askSurvey(in: name, before.withLock { $0 })
        }
        return assignment
    }
}
