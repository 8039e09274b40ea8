import BalloonJSON
package import BalloonPOSIX

/// Counts for health checks and logs.
package struct StoreStatistics: Hashable, Sendable {
    /// Deliveries that are not finished.
    package let pendingDeliveries: Int
    /// Those of them that failed too often to hold up their conversations, and wait for their next attempt.
    package let parkedDeliveries: Int
    /// Those of them that cannot be read back from the journal; their conversations stand still.
    package let unreadableDeliveries: Int
    /// Replies that were decided and have no end yet.
    package let queuedReplies: Int
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
    /// Conversations whose files refused their latest line; their deliveries are tried again.
    package let refusedConversations: Int
    /// Why no checkpoint is made, so that no segment is deleted; nil while checkpoints are made.
    package let checkpointFailure: String?
}

extension StoreStatistics {
    /// `{"pendingDeliveries":3,"parkedDeliveries":1,…}`: every count by its name, and `lastSyncFailure`
    /// and `checkpointFailure` as texts while there are any.
    package var json: [UInt8] {
        JSONWriter.object(reservingCapacity: 512) { writer in
            writer.field("pendingDeliveries", pendingDeliveries)
            writer.field("parkedDeliveries", parkedDeliveries)
            writer.field("unreadableDeliveries", unreadableDeliveries)
            writer.field("queuedReplies", queuedReplies)
            writer.field("pendingReferences", pendingReferences)
            writer.field("waitingBytes", waitingBytes)
            writer.field("lastSyncFailure", lastSyncFailure.map { "\($0)" })
            writer.field("indexedMessages", indexedMessages)
            writer.field("quarantinedConversations", quarantinedConversations)
            writer.field("refusedConversations", refusedConversations)
            writer.field("checkpointFailure", checkpointFailure)
        }
    }
}
