package import BalloonPOSIX

/// Counts for health checks and logs.
package struct StoreStatistics: Hashable, Sendable {
    /// The number of unfinished deliveries.
    package let pendingDeliveries: Int
    /// The number of parked deliveries, which failed repeatedly and no longer hold back their conversations.
    package let parkedDeliveries: Int
    /// The number of deliveries that cannot be read back from the journal; they block their conversations.
    package let unreadableDeliveries: Int
    /// The number of replies that were decided and have not ended.
    package let queuedReplies: Int
    /// The number of payload references that wait for their download.
    package let pendingReferences: Int
    /// The number of journal bytes that wait for a sync.
    package let waitingBytes: Int
    /// The error of the journal's last batch; nil after a success.
    package let lastSyncFailure: SystemError?
    /// The number of messages in the deduplication index.
    package let indexedMessages: Int
    /// The number of quarantined conversations; while there are any, no segment is deleted.
    package let quarantinedConversations: Int
    /// The number of conversations whose latest line could not be written, for a reason that concerns only
    /// their file.
    package let refusedConversations: Int
    /// The reason why checkpoints fail, so that no segment is deleted; nil while they succeed.
    package let checkpointFailure: String?
}
