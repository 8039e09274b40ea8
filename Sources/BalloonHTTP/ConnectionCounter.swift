import BalloonPOSIX
import Synchronization

/// How many connections of one listener are open, on all shards together, how many of each peer, and the bytes that they
/// hold.
final class ConnectionCounter: Sendable {
    private let total = Atomic<Int>(0)
    private let buffered = Atomic<Int>(0)
    private let perPeer = Mutex<[PeerAddress: Int]>([:])
    private let bufferedPerPeer = Mutex<[PeerAddress: Int]>([:])
    private let maximumPerPeer: Int?
    private let maximumBufferedBytes: Int
    private let maximumBufferedBytesPerPeer: Int?

    init(_ limits: HTTPLimits) {
        maximumPerPeer = limits.maximumConnectionsPerPeer
        maximumBufferedBytes = limits.maximumBufferedBytes
        maximumBufferedBytesPerPeer = limits.maximumBufferedBytesPerPeer
    }

    var value: Int { total.load(ordering: .relaxed) }

    /// Whether the connections may hold more that is not the body of an admitted request: headers, pipelined requests and
    /// answers have half of the bytes, so that none of them can keep a body out.
    var hasRoom: Bool { bufferedBytes < maximumBufferedBytes / 2 }
    /// What the connections hold.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }

    /// Counts so many bytes more, or fewer, of a connection of `peer`; false when all, or those of the peer, hold too much
    /// now.
    func count(_ change: Int, of peer: PeerAddress, isAdmitted: Bool) -> Bool {
        let all = buffered.add(change, ordering: .relaxed).newValue
        let hasShare = countShare(change, of: peer)
        return hasShare && all <= (isAdmitted ? maximumBufferedBytes : maximumBufferedBytes / 2)
    }

    private func countShare(_ change: Int, of peer: PeerAddress) -> Bool {
        // A proxy on this machine is every client at once.
        guard let maximumBufferedBytesPerPeer, !peer.isLocal else { return true }
        return bufferedPerPeer.withLock { bytes in
            let held = bytes[peer.group, default: 0] + change
            bytes[peer.group] = held > 0 ? held : nil
            return held <= maximumBufferedBytesPerPeer
        }
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
