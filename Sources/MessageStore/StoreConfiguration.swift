package import BalloonPOSIX

/// What a store needs to know before it opens.
package struct StoreConfiguration: Sendable {
    /// The data directory; made, with what is missing above it, if absent.
    package var directory: String
    /// How many bytes of messages may wait for the disk before more are refused.
    package var maximumWaitingBytes = 64 << 20
    /// How long a message is remembered at least, so that a repetition of it is known.
    package var deduplicationWindow = Duration.seconds(72 * 3600)
    /// How many messages are remembered at most, each in up to 64 bytes; beyond that the window is shorter.
    package var maximumRememberedMessages = 4_000_000
    /// How many messages may wait to be finished before more are refused; each takes up to 130 bytes of memory, and
    /// 550 where each is from another customer.
    package var maximumPendingDeliveries = 1_000_000
    /// How long senders wait while a business's deliveries do.
    var pace = AnswerPace()
    /// How many bytes of messages stay in memory until their deliveries end, so that they are not read back.
    package var maximumCachedBytes = 32 << 20
    /// The size from which a journal segment is followed by a new one.
    package var maximumSegmentBytes = 64 << 20
    /// How far a journal segment is filled ahead of what is written to it.
    package var preparedBytes = 512 << 10
    /// The age from which a journal segment is followed by a new one.
    package var maximumSegmentAge = Duration.seconds(6 * 3600)
    /// How often the store looks whether a segment may go.
    package var retentionInterval = Duration.seconds(600)
    /// How many conversations' files stay open.
    package var maximumOpenConversations = 1024
    /// Of how many conversations whose files are closed the store knows where they end; about 100 bytes each.
    package var maximumKnownConversations = 65_536
    /// How long after a line is written a round begins in which all written conversations are synced and checkpointed.
    package var checkpointInterval = Duration.seconds(5)
    /// How long after a round the next begins at the earliest, so that no conversation is synced more often.
    package var conversationSyncInterval = Duration.seconds(30)
    /// How many conversations a round syncs in a second while messages come in.
    package var maximumConversationSyncsPerSecond = 200
    /// How long a record that nobody waits for may wait for company before it is written.
    package var lazyDelay = Duration.milliseconds(10)
    /// How long after a failed sync the store tries by itself whether the disk is well again.
    package var probeInterval = Duration.seconds(1)
    /// The pauses before a failed step is tried again.
    package var releaseBackoff = Backoff(from: .seconds(1), to: .seconds(30))
    /// How many records are written before a snapshot of the journal takes them in.
    var snapshotInterval: UInt64 = 100_000
    /// The disk that is written to.
    package var disk: any StoreDisk = SystemDisk()

    /// The defaults, for a data directory.
    package init(directory: String) { self.directory = directory }
}
