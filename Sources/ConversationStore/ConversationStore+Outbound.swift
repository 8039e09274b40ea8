package import BusinessMessages
import Synchronization

extension ConversationStore {
    /// Leases the first delivery of a conversation if it goes out unasked and its turn has come; nil otherwise.
    ///
    /// For who sends from a directory without handling what customers sent.
    package func nextOutbound(of business: BusinessID, _ customer: CustomerID) -> Delivery? {
        let key = ConversationKey(business: business, customer: customer)
        guard let lease = scheduler.withQueues({ $0.leaseOutbound(of: key) }) else { return nil }
        do {
            let records = try DeliveryRecords(lease.pending, from: reader)
            guard let outcome = records.decided else { return nil }
            let known = DecidedDelivery(outcome: outcome, ends: records.replies)
            decided.withLock { $0[lease.pending.record] = known }
            return records.delivery(lease)
        } catch {
            scheduler.withQueues { $0.giveUp(lease) }
            logUnreadable(lease, error)
            return nil
        }
    }

    /// Whether a message that is on disk and not recorded in the conversation yet closes it.
    package func isClosing(_ business: BusinessID, _ customer: CustomerID) -> Bool {
        scheduler.withQueues { $0.closes(ConversationKey(business: business, customer: customer)) }
    }
}
