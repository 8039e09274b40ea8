import BusinessMessages
import Logging
import MessageStore

/// Hands conversations off to people when their customers ask for a person.
///
/// Also ends the wait of a delivery for its handler when a person takes the conversation.
struct HandOffs: Sendable {
    let store: Store
    let watch: AssignmentWatch
    let logger: Logger

    /// The reason of a hand-off that the customer asked for.
    static let askedFor = "the customer asked for a person"

    /// Hands the conversation off when the customer asks for a person.
    ///
    /// The `record` stage calls this function, so that neither a handler that is down nor a wait for a free
    /// slot delays the hand-off.
    func record(_ event: InboundEvent, of message: UnrecordedMessage) {
        guard asksForPerson(event), !store.isWithPerson(message) else { return }
        let conversation = ConversationID(business: message.business, customer: message.customer)
        store.assign(.handOff(reason: Self.askedFor), message.business, message.customer) { [watch] result in
            // If the change fails, the delivery hands the conversation off before it calls the handler.
            guard case .success(let assignment) = result, assignment.isAssigned else { return }
            watch.waits.end(in: conversation)
            watch.wakeUp()
        }
    }

    /// Whether a person answers instead of the handler; first hands the conversation off when the customer
    /// asks for that.
    func isLeftToPerson(_ delivery: Delivery, _ event: InboundEvent) async throws -> Bool {
        if await store.isWithPerson(delivery) { return true }
        guard asksForPerson(event), !delivery.isReplay, !delivery.isReplyFailure else { return false }
        do {
            _ = try await store.assign(.handOff(reason: Self.askedFor), delivery.business, delivery.customer)
        } catch StoreError.assignment(let refusal) {
            logger.warning(
                "hand-off to a person refused; the handler continues to answer this customer",
                metadata: ["business": "\(delivery.business.rawValue)", "reason": "\(refusal)"])
            return false
        }
        watch.wakeUp()
        return await store.isWithPerson(delivery)
    }

    /// Returns the result of `wait`, which waits for a handler; nil when a person takes the conversation during the
    /// wait.
    func handler<Result: Sendable>(
        for delivery: Delivery, _ wait: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        guard watch.settings[delivery.business] != nil else { return try await wait() }
        let conversation = ConversationID(business: delivery.business, customer: delivery.customer)
        do {
            return try await watch.waits.run(in: conversation, wait)
        } catch is CancellationError where !Task.isCancelled {
            guard await store.isWithPerson(delivery) else { throw CancellationError() }
            return nil
        }
    }

    /// The menu of the business when its customer asks for it; nil for any other event.
    func menu(for event: InboundEvent) -> OutboundMessage? {
        guard let menu = watch.settings[event.business]?.menu, CustomerWords.menu.match(event) else {
            return nil
        }
        return menu
    }

    private func asksForPerson(_ event: InboundEvent) -> Bool {
        guard let people = watch.settings[event.business] else { return false }
        return people.words.match(event)
    }
}
