package import BusinessMessages
import Synchronization

extension Store {
    /// Leases the first delivery of a conversation if it goes out unasked and its turn has come; nil otherwise.
    ///
    /// For who sends from a directory without handling what customers sent.
    package func nextOutbound(of business: BusinessID, _ customer: CustomerID) -> Delivery? {
        let key = ConversationKey(business: business, customer: customer)
        guard let lease = scheduler.withQueues({ $0.leaseOutbound(of: key) }) else { return nil }
        return delivery(lease)
    }

    /// Whether a message that is on disk and not recorded in the conversation yet closes it.
    package func isClosing(_ business: BusinessID, _ customer: CustomerID) -> Bool {
        scheduler.withQueues { $0.closes(ConversationKey(business: business, customer: customer)) }
    }
}
