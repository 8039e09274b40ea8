import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The conversations of a data directory, in independent partitions.
///
/// The hash of the customer determines the partition of a conversation, the same in every process.
final class ConversationPartitions: Sendable {
    /// The number of partitions, a power of two that divides 256.
    ///
    /// The first byte of the same hash names the folder of a conversation's file, so partitions share no
    /// folder.
    static let count = 16

    /// All partitions, in order.
    let all: [ConversationPartition]

    /// Loads the conversations that earlier processes quarantined.
    init(
        _ directory: DataDirectory, _ configuration: StoreConfiguration, feed: EventFeed = EventFeed(),
        index: IndexedConversations? = nil,
        logger: Logger
    ) throws(StoreError) {
        let quarantined = Dictionary(
            grouping: try ConversationQuarantine.paths(in: directory.damaged), by: Self.place(ofPath:))
        let threads = SharedThreads()
        all = (0..<Self.count).map { place in
            let quarantine = ConversationQuarantine(
                directory, paths: Set(quarantined[place] ?? []), logger: logger)
            let pool = ConversationPool(
                directory: directory.conversations, quarantine: quarantine, disk: configuration.disk,
                maximumOpenFiles: configuration.maximumOpenConversations / Self.count,
                maximumKnownEnds: configuration.maximumKnownConversations / Self.count, feed: feed,
                index: index)
            return ConversationPartition(pool, on: threads)
        }
    }

    /// The partition of a conversation.
    func partition(of key: ConversationKey) -> ConversationPartition { all[Self.place(of: key)] }

    /// The index of a conversation's partition in ``all``.
    static func place(of key: ConversationKey) -> Int { Int(key.digest >> 56) % count }

    /// Runs `body` for each of the conversations, in parallel for different partitions; returns after the
    /// last.
    func forEachInParallel(
        of keys: some Sequence<ConversationKey>,
        _ body: @Sendable (ConversationPartition, ConversationKey) -> Void
    ) {
        var places: [[ConversationKey]] = Array(repeating: [], count: Self.count)
        for key in keys { places[Self.place(of: key)].append(key) }
        DispatchQueue.concurrentPerform(iterations: Self.count) { [places] place in
            for key in places[place] { body(all[place], key) }
        }
    }

    /// The partition of a conversation's file.
    func partition(of name: ConversationName) -> ConversationPartition {
        all[Int(name.firstByte) % Self.count]
    }

    /// The name of a conversation's file.
    func name(of key: ConversationKey) -> ConversationName {
        partition(of: key).withUnsynced { $0.name(of: key) }
    }

    /// The partition of a conversation's file, by its path below the folder of all conversations.
    func partition(ofPath path: String) -> ConversationPartition { all[Self.place(ofPath: path)] }

    private static func place(ofPath path: String) -> Int {
        let firstByte = path.split(separator: "/").last.flatMap { UInt8($0.prefix(2), radix: 16) }
        return Int(firstByte ?? 0) % count
    }

    /// Appends a line and returns when the operating system has it; with `mightBeThere`, skips an existing line.
    ///
    /// Syncs nothing.
    func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        try partition(of: entry.conversation).append(entry, mightBeThere: mightBeThere)
    }

    /// The last lines of a conversation, oldest first; at most `maximumBytes` in total, but always the last
    /// line.
    func lines(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> [ConversationLine] {
        try partition(of: key).lines(of: key, maximum: maximum, maximumBytes: maximumBytes)
    }

    /// The line of a customer's message; nil when the conversation has none.
    func inboundLine(of id: MessageID, in key: ConversationKey) throws(StoreError) -> ConversationLine? {
        try partition(of: key).withPool { pool throws(StoreError) in try pool.end(of: key) }?
            .inboundLine(of: id)
    }

    /// Whether the customer's last message in the last `maximumBytes` of a conversation closed it; false when these have none.
    ///
    /// The file is searched once while it is open.
    func isClosed(_ key: ConversationKey, maximumBytes: Int) throws(StoreError) -> Bool {
        let partition = partition(of: key)
        let end = try partition.withPool { pool throws(StoreError) in try pool.end(of: key) }
        guard let end else { return false }
        if let isClosed = end.isClosed { return isClosed }
        let isClosed = try end.lastInboundLine(maximumBytes: maximumBytes)?.kind == .close
        try partition.withPool { pool throws(StoreError) in pool.keep(isClosed: isClosed, of: key) }
        return isClosed
    }

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation is quarantined.
    func checkIntact(_ key: ConversationKey) throws(StoreError) {
        if quarantinedCount > 0 { try partition(of: key).checkIntact(key) }
    }

    /// Clears the lists of conversations whose files refused lines: each was written or quarantined since.
    func forgetRefused() { for partition in all { partition.forgetRefused() } }

    /// The number of conversations whose file refused their latest line for a reason other than the whole
    /// disk; never blocks.
    var refusedCount: Int { all.reduce(0) { $0 + $1.refusedCount } }

    /// The quarantined conversations, as paths below the folder of all conversations.
    var quarantined: Set<String> { all.reduce(into: []) { $0.formUnion($1.quarantined) } }

    /// The number of quarantined conversations; never blocks.
    var quarantinedCount: Int { all.reduce(0) { $0 + $1.quarantinedCount } }

    /// Whether any file is not synced.
    var hasUnsynced: Bool { !all.allSatisfy { $0.withUnsynced { $0.unsynced.isEmpty } } }

    /// Closes all files; every later call throws ``StoreError/closed``.
    func close() { for partition in all { partition.close() } }
}
