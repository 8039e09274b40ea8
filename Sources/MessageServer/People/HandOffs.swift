import BusinessMessages
import Logging
import MessageStore

/// Hands conversations off to people in the path of a message: recognizes the customer who asks for a person, and ends the wait
/// for a handler.
struct HandOffs: Sendable {
    let store: Store
    let watch: AssignmentWatch
    let logger: Logger

    /// The reason of a hand-off that the customer asked for.
    static let askedFor = "the customer asked for a person"
    /// The maximum length of a text that may be a word, with blanks around it.
    private static let maximumTextBytes = 1000

    /// Hands the conversation off when the customer asks for a person; in the `record` stage, so that neither a handler that is
    /// down nor a slot delays it.
    func record(_ event: InboundEvent, of message: UnrecordedMessage) {
        guard asksForPerson(event), !store.isWithPerson(message) else { return }
        let conversation = ConversationName(business: message.business, customer: message.customer)
        store.assign(.handOff(reason: Self.askedFor), message.business, message.customer) { [watch] result in
            // Without it the delivery hands the conversation off, before it asks the handler.
            guard case .success(let assignment) = result, assignment.isAssigned else { return }
            watch.waits.end(in: conversation)
            watch.wakeUp()
        }
    }

    /// Whether a delivery is left to a person; hands its conversation off when the customer asks for one.
    func isLeftToPerson(_ delivery: Delivery, _ event: InboundEvent) async throws -> Bool {
        if await store.isWithPerson(delivery) { return true }
        guard asksForPerson(event), !delivery.isReplay, !delivery.isReplyFailure else { return false }
        do {
            _ = try await store.assign(.handOff(reason: Self.askedFor), delivery.business, delivery.customer)
        } catch StoreError.assignment(let refusal) {
            logger.warning(
                "a customer asked for a person, and the handler answers",
                metadata: ["business": "\(delivery.business.rawValue)", "reason": "\(refusal)"])
            return false
        }
        watch.wakeUp()
        return await store.isWithPerson(delivery)
    }

    /// Waits for a handler; nil when a person takes the conversation meanwhile.
    func handler<Result: Sendable>(
        for delivery: Delivery, _ wait: @escaping @Sendable () async throws -> Result
    ) async throws -> Result? {
        guard watch.settings[delivery.business] != nil else { return try await wait() }
        let conversation = ConversationName(business: delivery.business, customer: delivery.customer)
        do {
            return try await watch.waits.run(in: conversation, wait)
        } catch is CancellationError where !Task.isCancelled {
            guard await store.isWithPerson(delivery) else { throw CancellationError() }
            return nil
        }
    }

    private func asksForPerson(_ event: InboundEvent) -> Bool {
        // A long text is no word, and most texts are long.
        guard case .text(let text) = event.content, text.body.utf8.count <= Self.maximumTextBytes,
            let people = watch.settings[event.business]
        else { return false }
        return people.areAskedFor(in: text.plainBody)
    }
}
