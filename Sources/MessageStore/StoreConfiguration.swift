package import BalloonPOSIX

/// The settings with which a store is opened.
package struct StoreConfiguration: Sendable {
    /// The data directory; created with its missing parents if absent.
    package var directory: String
    /// Whether the last process ran on another machine and died, so that the file of calls may lack messages that it had in hand.
    package var wasTakenOver = false
    /// The directory's lock, if the caller holds it already.
    package var lock: FileLock?
    /// The maximum number of message bytes that wait for the disk; beyond it, messages are refused.
    package var maximumWaitingBytes = 64 << 20
    /// The time for which a message is remembered, so that a copy of it is detected.
    package var deduplicationWindow = Duration.seconds(72 * 3600)
    /// The maximum number of remembered messages; each takes up to 64 bytes of memory.
    ///
    /// At this number, the oldest quarter is forgotten before ``deduplicationWindow`` has passed.
    package var maximumRememberedMessages = 4_000_000
    /// The maximum number of conversations that a person has or that wait for one; each takes up to 3 KB.
    package var maximumAssignedConversations = 100_000
    /// The maximum number of unfinished messages; further ones are refused.
    ///
    /// Each takes up to 130 bytes of memory, or 550 bytes when every message is from a different customer.
    package var maximumPendingDeliveries = 1_000_000
    /// How long the answer to a sender is delayed while the business has a backlog of deliveries.
    var pace = AnswerPace()
    /// The maximum number of message bytes that stay in memory until delivery, to avoid reading them from the
    /// journal.
    package var maximumCachedBytes = 32 << 20
    /// The size at which a journal segment ends and the next one begins.
    package var maximumSegmentBytes = 64 << 20
    /// How many bytes of a journal segment are preallocated after its last record.
    package var preparedBytes = 512 << 10
    /// The age at which a journal segment ends and the next one begins.
    package var maximumSegmentAge = Duration.seconds(6 * 3600)
    /// The interval between two checks for journal segments that may be deleted.
    package var retentionInterval = Duration.seconds(600)
    /// The maximum number of open conversation files.
    package var maximumOpenConversations = 1024
    /// The number of closed conversation files whose ends stay in memory; about 100 bytes each.
    package var maximumKnownConversations = 65_536
    /// The delay from a written line to the next round that syncs and checkpoints all written conversations.
    package var checkpointInterval = Duration.seconds(5)
    /// The minimum interval between two rounds that sync conversations, so that no file is synced more often.
    package var conversationSyncInterval = Duration.seconds(30)
    /// The maximum number of conversations that a round syncs per second while messages arrive.
    package var maximumConversationSyncsPerSecond = 200
    /// Whether an index of conversations is kept, so that lists of them are possible.
    package var keepsIndex = false
    /// The maximum number of conversation files that are read per second to build the index.
    package var maximumIndexedFilesPerSecond = 10_000
    /// How long a record that no caller waits for may be delayed, to write it in one batch with other
    /// records.
    package var lazyDelay = Duration.milliseconds(10)
    /// The interval between probes of the disk after a failed sync.
    package var probeInterval = Duration.seconds(1)
    /// The pauses before a released delivery is leased again, and before a failed recording is retried.
    package var releaseBackoff = Backoff(from: .seconds(1), to: .seconds(30))
    /// How long, after a crash, all other deliveries wait for suspects at most.
    ///
    /// A suspect is a delivery that was leased at the crash, and so may have caused it.
    package var suspectPatience = Duration.seconds(20)
    /// The number of new records after which a snapshot of the journal is written.
    var snapshotInterval: UInt64 = 100_000
    /// The clock by which open requests to sign in or to pay expire.
    package var now: @Sendable () -> Timestamp = { .now() }
    /// The callback for the progress of a recovery: it runs on any thread after each journal segment and
    /// conversation.
    package var recoveryDidAdvance: @Sendable () -> Void = {}
    /// The settings of erasures: the path of their ledger, and how long the ledger keeps an entry.
    package var erasures = CustomerErasure.Settings()
    /// Whether a restoration opens the directory before it is complete.
    var isRestoring = false
    /// The disk operations that the store uses.
    package var disk: any StoreDisk = SystemDisk()

    /// Creates the default configuration for a data directory.
    package init(directory: String) { self.directory = directory }
}
