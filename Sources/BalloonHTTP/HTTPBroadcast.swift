import Synchronization

/// Sends the same bytes to many streamed answers.
///
/// A batch is one post for each shard with subscribers, and is framed once for all of them; a subscriber has no
/// task and no channel. Each subscriber gets the batches in the order of ``send(_:)``, beginning with the first one
/// after its subscription.
///
/// A subscriber that does not read is cut off: when a batch would raise its untaken bytes above
/// ``maximumUntakenBytes``, or when the listener has no memory left for answers. The socket buffers of the kernel are
/// not counted.
package final class HTTPBroadcast: Sendable {
    /// The bytes that a subscriber may leave untaken; one batch may be larger.
    package static let maximumUntakenBytes = 65536

    /// The number of subscribers on each shard that has any.
    private let shards = Mutex<[(shard: Shard, count: Int)]>([])

    /// Creates a broadcast without subscribers.
    package init() {}

    /// The number of subscribers.
    package var subscriberCount: Int { shards.withLock { $0.reduce(0) { $0 + $1.count } } }

    /// Sends one batch to all current subscribers; returns at once, from any thread.
    package func send(_ bytes: [UInt8]) {
        // RFC 9112 §7.1: a chunk without bytes would end the body.
        guard !bytes.isEmpty else { return }
        shards.withLock { shards in
            guard !shards.isEmpty else { return }
            let batch = BroadcastBatch(bytes)
            // Posted under the lock, so that all shards get batches in the same order.
            for (shard, _) in shards { shard.post(.batch(batch, of: self)) }
        }
    }

    /// Counts a subscriber on a shard.
    func add(_ shard: Shard) {
        shards.withLock { shards in
            if let index = shards.firstIndex(where: { $0.shard === shard }) {
                shards[index].count += 1
            } else {
                shards.append((shard, 1))
            }
        }
    }

    func remove(_ shard: Shard) {
        shards.withLock { shards in
            guard let index = shards.firstIndex(where: { $0.shard === shard }) else { return }
            shards[index].count -= 1
            if shards[index].count == 0 { shards.remove(at: index) }
        }
    }
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
