package import BalloonPOSIX

/// The settings with which a store is opened.
package struct StoreConfiguration: Sendable {
    /// The data directory; created with its missing parents if absent.
    package var directory: String
    /// The limit of message bytes that wait for the disk; further messages are refused.
    package var maximumWaitingBytes = 64 << 20
    /// The minimum time in which a repeated message is detected.
    package var deduplicationWindow = Duration.seconds(72 * 3600)
    /// The maximum number of remembered messages, each with up to 64 bytes; when it is reached, the window is
    /// shorter.
    package var maximumRememberedMessages = 4_000_000
    /// The maximum number of conversations that are with persons or wait for one; each takes up to 3 KB.
    package var maximumAssignedConversations = 100_000
    /// The maximum number of unfinished messages; further ones are refused.
    ///
    /// Each takes up to 130 bytes of memory, or 550 when every one is from another customer.
    package var maximumPendingDeliveries = 1_000_000
    /// How long senders wait while a business has a backlog of deliveries.
    var pace = AnswerPace()
    /// The limit of message bytes that are cached until their deliveries end, to avoid reading them back.
    package var maximumCachedBytes = 32 << 20
    /// The size of a journal segment at which a new one begins.
    package var maximumSegmentBytes = 64 << 20
    /// How far a journal segment is preallocated.
    package var preparedBytes = 512 << 10
    /// The age of a journal segment at which a new one begins.
    package var maximumSegmentAge = Duration.seconds(6 * 3600)
    /// The interval between checks for expired segments.
    package var retentionInterval = Duration.seconds(600)
    /// The maximum number of open conversation files.
    package var maximumOpenConversations = 1024
    /// The number of closed conversation files whose end is cached; about 100 bytes each.
    package var maximumKnownConversations = 65_536
    /// The delay from a written line to the next round that syncs and checkpoints all written conversations.
    package var checkpointInterval = Duration.seconds(5)
    /// The minimum interval between rounds, so that no conversation is synced more often.
    package var conversationSyncInterval = Duration.seconds(30)
    /// The number of conversations that a round syncs per second while messages arrive.
    package var maximumConversationSyncsPerSecond = 200
    /// Whether an index of conversations is kept, so that lists of them are possible.
    package var keepsIndex = false
    /// The number of conversations that are read per second to build the index.
    package var maximumIndexedFilesPerSecond = 10_000
    /// How long a record without a waiting caller may be delayed, to be written with others.
    package var lazyDelay = Duration.milliseconds(10)
    /// The interval between probes of the disk after a failed sync.
    package var probeInterval = Duration.seconds(1)
    /// The pauses before a released delivery is leased again, and before a failed recording is retried.
    package var releaseBackoff = Backoff(from: .seconds(1), to: .seconds(30))
    /// How long all deliveries wait after a crash for suspects whose handlers are not ready.
    package var suspectPatience = Duration.seconds(20)
    /// The number of new records after which a snapshot of the journal is written.
    var snapshotInterval: UInt64 = 100_000
    /// The clock of open requests.
    package var now: @Sendable () -> Timestamp = { .now() }
    /// Called from any thread after each part of a recovery: a segment of the journal, or a conversation.
    package var recoveryDidAdvance: @Sendable () -> Void = {}
    /// The ledger of erasures, and how long it keeps an entry.
    package var erasures = CustomerErasure.Settings()
    /// Whether the directory's restoration has not ended.
    var isRestoring = false
    /// The disk operations that the store uses.
    package var disk: any StoreDisk = SystemDisk()

    /// Creates the default configuration for a data directory.
    package init(directory: String) { self.directory = directory }
}
