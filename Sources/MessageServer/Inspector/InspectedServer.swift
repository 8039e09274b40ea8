package import BusinessMessages
package import MessageStore

/// The part of the running server that the simulator beside an inspector can see.
package struct InspectedServer: Sendable {
    let store: Store

    /// The replies of a conversation that are decided and not yet sent, in sending order.
    ///
    /// They come from the journal, so a restart keeps them.
    package func queuedReplies(of business: BusinessID, _ customer: CustomerID) -> [OutboxEntry] {
        store.queuedReplies(of: business, customer)
    }
}
