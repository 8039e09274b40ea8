import BusinessMessages

extension GatewayMemory {
    /// Waits until `count` messages follow number `number`, or the wait ends; returns the existing ones.
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
                // Cancelled when a message arrived first.
                group.addTask { try? await Task.sleep(until: end, clock: .continuous) }
                await group.next()
                group.cancelAll()
            }
        }
    }
}
