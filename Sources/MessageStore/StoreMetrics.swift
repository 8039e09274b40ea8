package import BalloonMetrics
package import BalloonPOSIX
package import BusinessMessages
import Synchronization

/// The store's counts for operators, at one moment and by business.
package struct StoreMetrics: Sendable {
    /// The durations of the journal's batches; a batch is one write and one sync.
    package let commitDurations: Histogram.Snapshot
    /// The number of records of each batch.
    package let batchSizes: Histogram.Snapshot
    /// The bytes of all segments of the journal.
    package let journalBytes: UInt64
    /// The bytes that are free on the file system of the data directory; nil when the system does not report
    /// them.
    package let freeBytes: UInt64?
    /// The time of the latest complete backup, to the second; nil without one.
    package let lastBackup: Timestamp?
    /// The backlog of each business that has one.
    package let backlogs: [BusinessID: Backlog]

    /// The messages and replies of one business, or of several, that have not ended, and the dead letters.
    package struct Backlog: Sendable {
        /// The unfinished messages.
        package fileprivate(set) var pending = 0
        /// The arrival time of the oldest unfinished message, unless it is unreadable.
        package fileprivate(set) var oldest: Timestamp?
        /// The replies that have not ended.
        package fileprivate(set) var queuedReplies = 0
        package fileprivate(set) var deadLetters = 0

        /// Creates one of nothing.
        package init() {}

        /// Adds another business's.
        package mutating func add(_ other: Backlog) {
            pending += other.pending
            oldest = [oldest, other.oldest].compactMap(\.self).min()
            queuedReplies += other.queuedReplies
            deadLetters += other.deadLetters
        }

        /// The milliseconds for which the oldest unfinished message has waited; not below 0 when the clock was set back.
        package func oldestAge(at now: Timestamp) -> Int64? {
            oldest.map { max(0, now.milliseconds - $0.milliseconds) }
        }
    }
}

extension Store {
    /// Counts for operators; reads the sizes of the journal's segments, and each business's oldest unfinished
    /// message.
    ///
    /// The locks of the ingest path are held only while values are copied. The time to find the oldest
    /// messages grows with the number of conversations that have unfinished messages. The dead letters of reversals are stored
    /// outside the journal.
    package func metrics(deadReversals: [BusinessID: Int]) -> StoreMetrics {
        var backlogs: [BusinessID: StoreMetrics.Backlog] = [:]
        func add(_ counts: [BusinessID: Int], to count: WritableKeyPath<StoreMetrics.Backlog, Int>) {
            for (business, more) in counts { backlogs[business, default: .init()][keyPath: count] += more }
        }
        add(scheduler.quotas.counts, to: \.pending)
        add(outbox.withQueue(\.countsByBusiness), to: \.queuedReplies)
        add(journalState.withState(\.ledger.deadLetterCounts), to: \.deadLetters)
        add(deadReversals, to: \.deadLetters)
        for (business, location) in scheduler.oldest {
            // The log and `/readyz` report an unreadable message.
            let line = try? reader.line(at: location)
            let time = line?.root["at"]?.string.flatMap { Timestamp(rfc3339: $0) }
            backlogs[business, default: .init()].oldest = time
        }
        return StoreMetrics(
            commitDurations: journal.commitDurations.snapshot, batchSizes: journal.batchSizes.snapshot,
            journalBytes: journalBytes, freeBytes: freeBytes, lastBackup: Backup.lastSuccess(in: directory),
            backlogs: backlogs)
    }

    /// The bytes that are free on the file system of the data directory; nil when the system does not report
    /// them.
    ///
    /// May wait for a network file system.
    package var freeBytes: UInt64? { try? FileSystemSpace.freeBytes(at: directory) }

    private var journalBytes: UInt64 {
        let folder = DataDirectory(path: directory).journal
        // Without the folder there is no journal; a segment that retention deletes meanwhile counts as empty.
        let names = ((try? Directory.names(in: folder)) ?? []).filter { SegmentName.firstRecord($0) != nil }
        return names.reduce(0) { total, name in
            total + UInt64(clamping: (try? FileStatus.sizeBytes(folder + "/" + name)) ?? 0)
        }
    }
}

extension DeliveryScheduler {
    /// The place, in the journal, of the oldest unfinished message of each business.
    fileprivate var oldest: [BusinessID: RecordLocation] {
        var found: [BusinessID: PendingDelivery] = [:]
        for partition in partitions {
            partition.state.withLock { $0.queues.findOldest(&found) }
        }
        return found.mapValues(\.location)
    }
}
