package import BalloonPOSIX
package import BusinessMessages
import Logging
import Synchronization

/// The result of a round that removed old lines and dead letters.
package struct TrimReport: Hashable, Sendable {
    /// The number of conversations that were rewritten.
    package var rewritten = 0
    /// The number of conversations whose files were removed, because all of their lines were old.
    package var removed = 0
    /// The number of removed lines.
    package var lines = 0
    /// The number of dropped dead letters.
    package var deadLetters = 0
    /// Whether conversations stayed as they are because a backup runs.
    package var isPostponed = false

    /// Creates the report of a round that removed nothing.
    package init() {}
}

/// Removal of messages and dead letters that are older than their business keeps them.
extension Store {
    /// The maximum number of files that a round opens per second; the next constant limits the bytes that it
    /// writes.
    private static let maximumFilesPerSecond = 50
    private static let maximumBytesPerSecond = 5 << 20
    /// The reason for dropping a reply because of its age; the journal does not have it for a dead letter.
    private static let expired = "older than retention.deadLettersDays"

    /// Removes the lines of conversations that are older than their business keeps messages.
    ///
    /// Does nothing while the index is being built. While a backup runs, the rest is postponed. Opens a conversation's file only
    /// when the index says that its oldest line is too old. Keeps a line whose record the journal still has.
    /// Removes the handler's state together with the last line of its conversation.
    ///
    /// The caller must be on a thread that may wait for the disk. Throws a ``StoreError``, ``StoreError/filesChanging`` while
    /// another call runs; conversations that were trimmed before the error stay trimmed.
    package func trim(keepingDays days: [BusinessID: Int], now: Timestamp = .now()) async throws -> TrimReport
    {
        guard !isTrimming.exchange(true, ordering: .acquiringAndReleasing) else {
            throw StoreError.filesChanging
        }
        defer { isTrimming.store(false, ordering: .releasing) }
        var report = TrimReport()
        guard index.phase == .ready,
            let oldestRecord = journalState.withState({ $0.ledger.segments.first?.first })
        else { return report }
        let limits = Dictionary(
            days.map { (ConversationPath.business($0.key), now.advanced(by: .seconds(-86_400 * $0.value))) }
        ) { first, _ in first }
        let began = ContinuousClock.now
        var (files, bytes) = (0, 0)
        var cursor = ConversationIndex.Cursor()
        while true {
            let due = index.withIndex { index -> [(ConversationName, Timestamp)]? in
                let entries = index.next(&cursor, maximum: 4096)
                if entries.isEmpty { return nil }
                return entries.compactMap { entry in
                    let business = index.businesses[Int(entry.business)]
                    guard let limit = limits[business], entry.oldestDay < IndexEntry.day(of: limit) else {
                        return nil
                    }
                    return (ConversationName(entry.digest, in: business), limit)
                }
            }
            guard let due else { return report }
            for (name, limit) in due {
                do {
                    guard let permit = try FileChangePermit(dataDirectory: directory) else {
                        report.isPostponed = true
                        return report
                    }
                    bytes += try await trim(name, olderThan: limit, before: oldestRecord, &report)
                    // Released before the pause, in which a backup may begin.
                    withExtendedLifetime(permit) {}
                }
                files += 1
                let byFiles: Duration = .seconds(1) * files / Self.maximumFilesPerSecond
                let byBytes: Duration = .seconds(1) * bytes / Self.maximumBytesPerSecond
                let pause = max(byFiles, byBytes) - (ContinuousClock.now - began)
                if pause > .zero { guard await self.pause(for: pause) else { return report } }
            }
        }
    }

    /// Trims one conversation; returns the number of bytes that were written.
    private func trim(
        _ name: ConversationName, olderThan limit: Timestamp, before record: UInt64,
        _ report: inout TrimReport
    ) async throws -> Int {
        let partition = conversations.partition(of: name)
        let found = try partition.withPool { pool throws(StoreError) in
            try pool.beginTrimming(name, olderThan: limit, before: record)
        }
        guard let replacement = found else { return 0 }
        if replacement.repair.count == 0 {
            let isRemoved = try partition.withPool { pool throws(StoreError) in
                try pool.remove(name, with: replacement.content)
            }
            guard isRemoved else { return 0 }
            try await states.remove(name, before: record)
            report.removed += 1
            report.lines += replacement.repair.removed
            return 0
        }
        guard try partition.install(replacement) else { return 0 }
        report.rewritten += 1
        report.lines += replacement.repair.removed
        return replacement.repair.bytes.count
    }

    /// Drops the dead letters that are older than their business keeps them, durably before it returns.
    ///
    /// Returns their number.
    package func dropDeadLetters(
        keepingDays days: [BusinessID: Int], now: Timestamp = .now()
    ) async throws -> Int {
        let counts = journalState.withState(\.ledger.deadLetterCounts)
        if counts.isEmpty { return 0 }
        // A parked message or reply is as old as the restoration that parked it.
        let restored = try RestoredMark.read(in: DataDirectory(path: directory))
        @Sendable func isDue(_ business: BusinessID, _ record: UInt64, _ at: Timestamp) -> Bool {
            guard let days = days[business] else { return false }
            var at = at
            if let restored, record <= restored.parkedThrough { at = max(at, restored.at) }
            return at < now.advanced(by: .seconds(-86_400 * days))
        }
        let events = try await reading { files in
            try files.events { $0.isDeadLetter && isDue($0.business, $0.record, $0.at) }
        }
        _ = try await dropDead(events.filter { !$0.isReplyFailure }.map(\.record))
        let replies = try await deadReplies { isDue($0.business, $0.id.record, $0.decidedAt) }
        if !replies.isEmpty { _ = try await drop(replies, reason: Self.expired) }
        return events.count + replies.count
    }
}

extension ConversationPool {
    /// Reads a conversation and decides which lines are removed; nil when no line is removed now.
    fileprivate mutating func beginTrimming(
        _ name: ConversationName, olderThan limit: Timestamp, before record: UInt64
    ) throws(StoreError) -> ConversationReplacement? {
        if isClosed { throw .closed }
        let path = directory + "/" + name.path
        // A quarantined conversation waits for its rebuild.
        guard !quarantine.contains(name), try DataFiles().holds(path) else { return nil }
        let shown: [UInt8] = try StoreError.naming(path) { () throws(SystemError) in try disk.read(path) }
        let end = shown.lastPosition(of: UInt8(ascii: "\n"), before: shown.count).map { $0 + 1 } ?? 0
        let content = Array(shown[..<end])
        return ConversationRepair(trimming: content, olderThan: limit, before: record).map {
            ConversationReplacement(name: name, path: path, content: content, repair: $0)
        }
    }

    /// Removes the file of a conversation whose lines are all too old; false when a line was added meanwhile.
    fileprivate mutating func remove(
        _ name: ConversationName, with content: [UInt8]
    ) throws(StoreError) -> Bool {
        let path = directory + "/" + name.path
        guard try begins(path, with: content) else { return false }
        do throws(SystemError) {
            guard try File(path, for: .reading).sizeBytes() == content.count else { return false }
            try disk.remove(path)
        } catch {
            throw .unavailable(path: path, error)
        }
        forget(name)
        unsynced.insert(folders: [Directory.parent(of: path)])
        index?.refresh(name)
        return true
    }
}
