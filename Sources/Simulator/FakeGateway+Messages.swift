import BalloonJSON
import BalloonPOSIX
package import BusinessMessages
import Synchronization

// The recorded messages.
extension FakeGateway {
    private static let maximumMessageBytes = 256 << 20

    /// The newest recorded message for a customer; nil without one.
    package func lastMessage(for customer: CustomerID) -> DeliveredMessage? {
        state.withLock { $0.messages.last { $0.customer == customer } }
    }

    /// The recorded messages for `customer`, or for all customers, in the order of arrival.
    package func messages(for customer: CustomerID? = nil) -> [DeliveredMessage] {
        messages(after: 0, customer: customer).found
    }

    /// Waits until at least `count` messages with numbers above `number` have arrived, or until the timeout.
    ///
    /// Returns all of them, which are fewer than `count` after a timeout.
    package func waitForMessages(
        count: Int = 1, customer: CustomerID? = nil, after number: Int = 0,
        within duration: Duration = .seconds(300)
    ) async -> [DeliveredMessage] {
        let end = ContinuousClock.now + duration
        while true {
            let seen = messages(after: number, customer: customer)
            if seen.found.count >= count || !seen.isOpen || Task.isCancelled || ContinuousClock.now >= end {
                return seen.found
            }
            await withTaskGroup { group in
                group.addTask { await self.nextMessage(after: seen.lastNumber) }
                // When a message arrives first, this sleep is cancelled.
                group.addTask { try? await Task.sleep(until: end, clock: .continuous) }
                await group.next()
                group.cancelAll()
            }
        }
    }

    /// Records a message; a message whose id is already recorded only increases that message's `repeats`.
    func deliver(
        _ id: MessageID, to customer: CustomerID, from business: BusinessID, _ message: JSONDocument,
        isAutomatic: Bool = false
    ) {
        state.withLock { state in
            if let number = state.numbers[id] {
                state.messages[number - state.lastNumber + state.messages.count - 1].repeats += 1
                return
            }
            state.lastNumber += 1
            state.numbers[id] = state.lastNumber
            state.messages.append(
                DeliveredMessage(
                    number: state.lastNumber, at: .now(), id: id, customer: customer, business: business,
                    message: message, isAutomatic: isAutomatic))
            state.messageBytes += message.bytes.count
            while state.messages.count > maximumMessages || state.messageBytes > Self.maximumMessageBytes,
                let oldest = state.messages.popFirst()
            {
                state.messageBytes -= oldest.message.bytes.count
                state.numbers[oldest.id] = nil
            }
        }
        waiters.wakeAll()
    }

    /// The messages with numbers above `number`, the number of the newest message, and whether the gateway is
    /// running.
    func messages(
        after number: Int, customer: CustomerID?
    ) -> (found: [DeliveredMessage], lastNumber: Int, isOpen: Bool) {
        state.withLock { state in
            // Numbers have no gaps, so the index of the first wanted message can be computed. The caller may
            // pass any `number`.
            let wanted = max(0, state.messages.count - max(0, state.lastNumber - max(0, number)))
            let found = state.messages[wanted...].filter { customer == nil || customer == $0.customer }
            return (found, state.lastNumber, state.isOpen)
        }
    }

    /// Returns when a message after number `number` exists, or at once when waits have ended or the task is
    /// cancelled.
    func nextMessage(after number: Int) async {
        await waiters.wait { [self] in state.withLock { !$0.isOpen || $0.lastNumber > number } }
    }
}
