import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The conversations of a data directory, in partitions that share no lock.
///
/// The hash of the customer determines a conversation's partition, which is therefore the same in every
/// process.
final class ConversationPartitions: Sendable {
    /// The number of partitions, a power of two that divides 256.
    ///
    /// The first byte of the hash determines both the partition and the folder of a conversation's file.
    /// Partitions therefore share no folder.
    static let count = 16

    /// All partitions, in order.
    let all: [ConversationPartition]

    /// Creates the partitions, with the conversations that earlier processes quarantined.
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

    /// Runs `body` for each of the conversations and returns after the last one.
    ///
    /// Different partitions run in parallel.
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
        partition(of: key).withPool { $0.name(of: key) }
    }

    /// The partition of a conversation's file, by its path below the folder of all conversations.
    func partition(ofPath path: String) -> ConversationPartition { all[Self.place(ofPath: path)] }

    private static func place(ofPath path: String) -> Int {
        let firstByte = path.split(separator: "/").last.flatMap { UInt8($0.prefix(2), radix: 16) }
        return Int(firstByte ?? 0) % count
    }

    /// Returns the current end of a conversation, which is read without a lock; nil when the conversation does not exist.
    func end(of key: ConversationKey) throws(StoreError) -> ConversationEnd? {
        try partition(of: key).withPool { pool throws(StoreError) in try pool.end(of: key) }
    }

    /// Returns whether the customer's last message in the last `maximumBytes` of a conversation closed it.
    ///
    /// False when these bytes have no message of the customer. The result is cached while the file is open.
    func isClosed(_ key: ConversationKey, maximumBytes: Int) throws(StoreError) -> Bool {
        guard let end = try end(of: key) else { return false }
        if let isClosed = end.isClosed { return isClosed }
        let isClosed = try end.lastInboundLine(maximumBytes: maximumBytes)?.kind == .close
        // A message that was written meanwhile has set the value.
        partition(of: key).withPool { pool in
            pool.updateEnd(of: key) { $0.isClosed = $0.isClosed ?? isClosed }
        }
        return isClosed
    }

    /// Returns the contact in the lines of a conversation.
    ///
    /// With `record`, only the lines of earlier records count, and the last lines are read; otherwise the result is
    /// cached while the file is open.
    func contact(_ key: ConversationKey, before record: UInt64?) throws(StoreError) -> Contact {
        guard let end = try end(of: key) else { return Contact() }
        if record == nil, let contact = end.contact { return contact }
        var contact = Contact()
        for line in try end.lines(maximum: Self.maximumContactLines, maximumBytes: .max)
        where line.record < record ?? .max {
            contact.apply(line, of: key.business)
        }
        if record == nil {
            // A line that was written meanwhile is not in this contact.
            partition(of: key).withPool { pool in
                pool.updateEnd(of: key) { if $0.lastSequence == end.lastSequence { $0.contact = contact } }
            }
        }
        return contact
    }

    /// The number of last lines in which a contact is searched.
    private static let maximumContactLines = 50

    /// Clears the lists of conversations whose latest write failed: each was written or quarantined since.
    func forgetRefused() { for partition in all { partition.forgetRefused() } }

    /// The number of conversations whose latest line could not be written; never blocks.
    ///
    /// Errors of the whole disk, such as a full one, do not count.
    var refusedCount: Int { all.reduce(0) { $0 + $1.refusedCount } }

    /// The quarantined conversations, as paths below the folder of all conversations.
    var quarantined: Set<String> { all.reduce(into: []) { $0.formUnion($1.quarantined) } }

    /// The number of quarantined conversations; never blocks.
    var quarantinedCount: Int { all.reduce(0) { $0 + $1.quarantinedCount } }

    /// Whether any file or folder is not synced.
    var hasUnsynced: Bool { !all.allSatisfy { $0.withPool { $0.unsynced.isEmpty } } }

    /// Closes all files; every later call throws ``StoreError/closed``.
    func close() { for partition in all { partition.close() } }
}
