import BalloonPOSIX
import Synchronization

/// How many connections of one listener are open, on all shards together, how many of each peer, and what they hold.
final class ConnectionCounter: Sendable {
    private let total = Atomic<Int>(0)
    private let buffered = Atomic<Int>(0)
    private let perPeer = Mutex<[PeerAddress: Int]>([:])
    private let maximumPerPeer: Int?
    private let maximumBufferedBytes: Int

    init(_ limits: HTTPLimits) {
        maximumPerPeer = limits.maximumConnectionsPerPeer
        maximumBufferedBytes = limits.maximumBufferedBytes
    }

    var value: Int { total.load(ordering: .relaxed) }

    /// Whether the connections may hold more than they do.
    var hasRoom: Bool { bufferedBytes < maximumBufferedBytes }
    /// What the connections hold.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }

    /// Notes that a connection holds so many bytes more, or fewer; false when all hold too much now.
    func note(_ change: Int) -> Bool {
        buffered.add(change, ordering: .relaxed).newValue <= maximumBufferedBytes
    }

    /// Counts a connection of `peer`; false, and not counted, when that has all it may have.
    func add(_ peer: PeerAddress) -> Bool {
        if let maximumPerPeer {
            let isAllowed = perPeer.withLock { counts in
                let count = counts[peer.group, default: 0]
                if count < maximumPerPeer { counts[peer.group] = count + 1 }
                return count < maximumPerPeer
            }
            guard isAllowed else { return false }
        }
        total.add(1, ordering: .relaxed)
        return true
    }

    func remove(_ peer: PeerAddress) {
        total.subtract(1, ordering: .relaxed)
        guard maximumPerPeer != nil else { return }
        perPeer.withLock { counts in
            // A peer without connections leaves nothing behind.
            guard let count = counts[peer.group] else { return }
            counts[peer.group] = count > 1 ? count - 1 : nil
        }
    }
}
