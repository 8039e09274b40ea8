import BalloonPOSIX
import Synchronization

/// Counts the open connections of one listener over all shards, in total and by peer, and the bytes that they
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

    /// Whether connections may hold more bytes of headers, pipelined requests and answers.
    ///
    /// These may use half of the limit, so that the other half is free for the bodies of admitted requests.
    var hasRoom: Bool { bufferedBytes < maximumBufferedBytes / 2 }
    /// The bytes that all connections hold.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }

    /// Adds `change` to the bytes that connections of `peer` hold.
    ///
    /// Returns false when the connections of this peer, or of all peers together, hold more than their limit.
    func count(_ change: Int, of peer: PeerAddress, isAdmitted: Bool) -> Bool {
        let all = buffered.add(change, ordering: .relaxed).newValue
        let hasShare = countShare(change, of: peer)
        return hasShare && all <= (isAdmitted ? maximumBufferedBytes : maximumBufferedBytes / 2)
    }

    private func countShare(_ change: Int, of peer: PeerAddress) -> Bool {
        // Connections from this machine have no limit per peer, because a local proxy carries all clients.
        guard let maximumBufferedBytesPerPeer, !peer.isLocal else { return true }
        return bufferedPerPeer.withLock { bytes in
            let held = bytes[peer.group, default: 0] + change
            bytes[peer.group] = held > 0 ? held : nil
            return held <= maximumBufferedBytesPerPeer
        }
    }

    /// Counts a connection of `peer`; when the peer is at its limit, returns false and counts nothing.
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
            // Remove the entry of a peer without connections.
            guard let count = counts[peer.group] else { return }
            counts[peer.group] = count > 1 ? count - 1 : nil
        }
    }
}
