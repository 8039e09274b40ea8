import Dispatch
import Logging
import Synchronization

/// The conversations of a data directory, in partitions that share nothing.
///
/// A conversation is in the partition that the hash of its customer names, in every life of the store.
final class ConversationPartitions: Sendable {
    /// How many partitions there are, a power of two that divides 256.
    ///
    /// The folder of a conversation's file is named by the first byte of the same hash: no two partitions share one.
    static let count = 16

    /// All of them, in their order.
    let all: [ConversationPartition]

    /// Finds the conversations that earlier lives quarantined.
    init(_ directory: DataDirectory, _ configuration: StoreConfiguration, logger: Logger) throws(StoreError) {
        let quarantined = Dictionary(
            grouping: try ConversationQuarantine.paths(in: directory.damaged), by: Self.place(ofPath:))
        all = (0..<Self.count).map { place in
            let quarantine = ConversationQuarantine(
                directory, paths: Set(quarantined[place] ?? []), logger: logger)
            let pool = ConversationPool(
                directory: directory.conversations, quarantine: quarantine, disk: configuration.disk,
                maximumOpenFiles: configuration.maximumOpenConversations / Self.count,
                maximumKnownEnds: configuration.maximumKnownConversations / Self.count)
            return ConversationPartition(pool, place: place)
        }
    }

    /// The partition of a conversation; costs one hash of the customer's identifier.
    func partition(of key: ConversationKey) -> ConversationPartition { all[place(of: key)] }

    /// The place of that partition in ``all``.
    func place(of key: ConversationKey) -> Int {
        Int(ConversationPath.firstByte(of: key.customer)) % Self.count
    }

    /// Runs `body` for each of the conversations, those of different partitions at the same time; returns behind the last.
    func forEachInParallel(
        of keys: some Sequence<ConversationKey>,
        _ body: @Sendable (ConversationPartition, ConversationKey) -> Void
    ) {
        var places: [[ConversationKey]] = Array(repeating: [], count: Self.count)
        for key in keys { places[Int(ConversationPath.firstByte(of: key.customer)) % Self.count].append(key) }
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

    /// The partition of the conversation whose file has this path below the folder of all conversations.
    func partition(ofPath path: String) -> ConversationPartition { all[Self.place(ofPath: path)] }

    private static func place(ofPath path: String) -> Int {
        let firstByte = path.split(separator: "/").last.flatMap { UInt8($0.prefix(2), radix: 16) }
        return Int(firstByte ?? 0) % count
    }

    /// Appends a line and returns when the system has it, unless it `mightBeThere` and is; syncs nothing.
    func append(_ entry: ConversationEntry, mightBeThere: Bool) throws(StoreError) {
        try partition(of: entry.conversation).append(entry, mightBeThere: mightBeThere)
    }

    /// The last lines of a conversation, oldest first; no more than have `maximumBytes` together, but always the last.
    func lines(
        of key: ConversationKey, maximum: Int, maximumBytes: Int
    ) throws(StoreError) -> [ConversationLine] {
        try partition(of: key).lines(of: key, maximum: maximum, maximumBytes: maximumBytes)
    }

    /// Throws ``StoreError/quarantinedConversation(file:)`` when the conversation waits to be rebuilt.
    func checkIntact(_ key: ConversationKey) throws(StoreError) {
        if quarantinedCount > 0 { try partition(of: key).checkIntact(key) }
    }

    /// Records that every conversation could be written, or was quarantined.
    func forgetRefused() { for partition in all { partition.forgetRefused() } }

    /// How many conversations' files refused their latest line, when that is not the whole disk's trouble; never waits.
    var refusedCount: Int { all.reduce(0) { $0 + $1.refusedCount } }

    /// The conversations that wait to be rebuilt, as paths below the folder of all conversations.
    var quarantined: Set<String> { all.reduce(into: []) { $0.formUnion($1.quarantined) } }

    /// How many they are; never waits.
    var quarantinedCount: Int { all.reduce(0) { $0 + $1.quarantinedCount } }

    /// Whether anything is not on disk.
    var hasUnsynced: Bool { !all.allSatisfy { $0.withUnsynced { $0.unsynced.isEmpty } } }

    /// Refuses every later call.
    func close() { for partition in all { partition.close() } }
}
