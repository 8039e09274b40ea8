import Synchronization

/// A sender of the same bytes to many streamed answers.
///
/// A batch is framed as a chunk once, and posted once to each shard that has subscribers. A subscriber needs
/// no task and no queue. It gets every batch that is sent after its subscription, in the order of
/// ``send(_:)``.
///
/// A subscriber that reads too slowly is disconnected: when a batch would raise its pending bytes above
/// ``maximumUntakenBytes``, or when the listener has no memory left for answers. Bytes in the kernel's socket
/// buffer are not counted. When more than ``maximumWaitingBytes`` wait for a shard, all its subscribers are
/// disconnected.
package final class HTTPBroadcast: Sendable {
    /// The maximum bytes that may wait to be sent to one subscriber; a single batch may be larger.
    package static let maximumUntakenBytes = 65536
    /// The maximum bytes of batches that may wait for one shard; a single batch may be larger.
    package static let maximumWaitingBytes = 1 << 20
    /// The maximum number of batches that may wait for one shard: each has a list of its subscribers.
    static let maximumWaitingBatches = 256

    private struct State {
        /// One section for each shard that has subscribers.
        var sections: [BroadcastSection] = []
        var isFinished = false
    }

    private let state = Mutex(State())

    /// Creates a broadcast without subscribers.
    package init() {}

    /// The number of subscribers.
    package var subscriberCount: Int { state.withLock { $0.sections.reduce(0) { $0 + $1.subscriberCount } } }

    /// Sends one batch to all current subscribers; returns at once, from any thread.
    package func send(_ bytes: [UInt8]) {
        // RFC 9112 §7.1: a chunk without bytes would end the body.
        guard !bytes.isEmpty else { return }
        state.withLock { state in
            guard !state.sections.isEmpty else { return }
            let batch = BroadcastBatch(bytes)
            // Posted under the lock, so that all shards get batches in the same order.
            state.sections.removeAll { section in
                if section.addWaiting(bytes.count) {
                    section.shard.post(.batch(batch, to: section))
                    return false
                }
                // The next subscriber of the shard creates a new section and misses no batch.
                section.end(isRegular: false)
                return true
            }
        }
    }

    /// Ends the answers of all current and later subscribers; returns at once, from any thread.
    package func finish() {
        state.withLock { state in
            state.isFinished = true
            for section in state.sections { section.end(isRegular: true) }
            state.sections = []
        }
    }

    /// Adds a streamed answer of a shard; false when the broadcast is finished.
    func add(_ exchange: ExchangeID, on shard: Shard) -> Bool {
        let (section, isPosted) = state.withLock { state -> (BroadcastSection?, Bool) in
            if state.isFinished { return (nil, false) }
            let section: BroadcastSection
            if let existing = state.sections.first(where: { $0.shard === shard }) {
                section = existing
                section.countSubscriber(1)
            } else {
                section = BroadcastSection(of: self, on: shard)
                state.sections.append(section)
            }
            // Posted under the lock, so that no later batch and no end reaches the shard before the subscription.
            return (section, shard.mailbox.put(.subscribe(exchange, to: section)))
        }
        guard let section else { return false }
        if !isPosted { remove(from: section) }
        return true
    }

    /// Removes one subscriber from `section`, and the section after its last subscriber.
    func remove(from section: BroadcastSection) {
        state.withLock { state in
            section.countSubscriber(-1)
            if section.subscriberCount == 0 { state.sections.removeAll { $0 === section } }
        }
    }
}

/// The subscribers of one broadcast on one shard, from the first subscription until all have ended.
final class BroadcastSection: Sendable {
    let broadcast: HTTPBroadcast
    let shard: Shard
    private let subscribers = Atomic(1)
    private let waitingBytes = Atomic(0)
    private let waitingBatches = Atomic(0)

    init(of broadcast: HTTPBroadcast, on shard: Shard) {
        self.broadcast = broadcast
        self.shard = shard
    }

    var subscriberCount: Int { subscribers.load(ordering: .relaxed) }

    func countSubscriber(_ change: Int) { subscribers.add(change, ordering: .relaxed) }

    /// Counts a batch of `bytes` that waits for the shard; false when too many bytes or batches wait already.
    ///
    /// The caller holds the broadcast's lock.
    func addWaiting(_ bytes: Int) -> Bool {
        let waiting = waitingBytes.load(ordering: .relaxed)
        guard
            waiting == 0
                || waiting + bytes <= HTTPBroadcast.maximumWaitingBytes
                    && waitingBatches.load(ordering: .relaxed) < HTTPBroadcast.maximumWaitingBatches
        else { return false }
        waitingBytes.add(bytes, ordering: .relaxed)
        waitingBatches.add(1, ordering: .relaxed)
        return true
    }

    /// Subtracts bytes that were sent to all subscribers, and batches that were sent or merged into another
    /// batch.
    func removeWaiting(_ bytes: Int, batches: Int) {
        waitingBytes.subtract(bytes, ordering: .relaxed)
        waitingBatches.subtract(batches, ordering: .relaxed)
    }

    /// Ends the answers of the section: after the waiting batches if `isRegular`, else without sending these.
    func end(isRegular: Bool) { shard.post(.endSection(self, isRegular: isRegular)) }
}

/// The bytes of one batch, with and without chunk framing.
struct BroadcastBatch: Sendable {
    private(set) var bytes: [UInt8]
    private(set) var chunk: [UInt8]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        chunk = []
        chunk.reserveCapacity(bytes.count + 16)
        appendChunk(bytes, to: &chunk)
    }

    mutating func append(_ other: BroadcastBatch) {
        bytes += other.bytes
        chunk += other.chunk
    }
}

/// Appends one chunk (RFC 9112 §7.1); `bytes` must not be empty.
func appendChunk(_ bytes: [UInt8], to output: inout [UInt8]) {
    output += String(bytes.count, radix: 16).utf8
    output += [0x0D, 0x0A]
    output += bytes
    output += [0x0D, 0x0A]
}
