import BusinessMessages

extension GatewayMemory {
    /// Waits until at least `count` messages have numbers above `number`, or until `duration` has passed;
    /// returns the messages found.
    func messages(
        count: Int, after number: Int, customer: CustomerID?, within duration: Duration
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
}
