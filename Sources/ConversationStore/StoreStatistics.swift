package import BalloonPOSIX

/// Counts for health checks and logs.
package struct StoreStatistics: Hashable, Sendable {
    /// Deliveries that are not finished.
    package let pendingDeliveries: Int
    /// Those of them that failed too often to hold up their conversations, and wait for their next attempt.
    package let parkedDeliveries: Int
    /// Those of them that cannot be read back from the journal; their conversations stand still.
    package let unreadableDeliveries: Int
    /// Payload references that nobody fetches yet.
    package let pendingReferences: Int
    /// Bytes that wait for a sync.
    package let waitingBytes: Int
    /// Why the last batch failed; nil when it did not.
    package let lastSyncFailure: SystemError?
    /// Messages in the deduplication index.
    package let indexedMessages: Int
    /// Conversations that were found damaged and wait to be rebuilt; while there are any, no segment is deleted.
    package let quarantinedConversations: Int
}
