import BalloonPOSIX
import Synchronization

/// Counts the open connections of one listener over all shards, in total and by peer, and the bytes that they
/// hold.
final class ConnectionCounter: Sendable {
    private let total = Atomic<Int>(0)
    private let buffered = Atomic<Int>(0)
    private let perPeer = Mutex<[PeerAddress: Int]>([:])
    private let bufferedPerPeer = Mutex<[PeerAddress: Int]>([:])
    private let maximumBufferedBytes: Atomic<Int>
    /// The limits of one peer; `Int.max` for none.
    private let maximumPerPeer: Atomic<Int>
    private let maximumBufferedBytesPerPeer: Atomic<Int>

    init(_ limits: HTTPLimits) {
        maximumBufferedBytes = Atomic(limits.maximumBufferedBytes)
        maximumPerPeer = Atomic(limits.maximumConnectionsPerPeer ?? .max)
        maximumBufferedBytesPerPeer = Atomic(limits.maximumBufferedBytesPerPeer ?? .max)
    }

    /// Applies other limits; what is held beyond a lower limit stays held.
    func apply(_ limits: HTTPLimits) {
        maximumBufferedBytes.store(limits.maximumBufferedBytes, ordering: .relaxed)
        maximumPerPeer.store(limits.maximumConnectionsPerPeer ?? .max, ordering: .relaxed)
        maximumBufferedBytesPerPeer.store(limits.maximumBufferedBytesPerPeer ?? .max, ordering: .relaxed)
    }

    var value: Int { total.load(ordering: .relaxed) }

    /// Whether connections may hold more bytes of headers, pipelined requests and answers.
    ///
    /// These may use half of the limit, so that the other half is free for the bodies of admitted requests.
    var hasRoom: Bool { bufferedBytes < maximumBufferedBytes.load(ordering: .relaxed) / 2 }
    /// The bytes that all connections hold.
    var bufferedBytes: Int { buffered.load(ordering: .relaxed) }

    /// Adds `change` to the bytes that connections of `peer` hold.
    ///
    /// Returns false when the connections of this peer, or of all peers together, hold more than their limit.
    func count(_ change: Int, of peer: PeerAddress, isAdmitted: Bool) -> Bool {
        let all = buffered.add(change, ordering: .relaxed).newValue
        let hasShare = countShare(change, of: peer)
        let maximum = maximumBufferedBytes.load(ordering: .relaxed)
        return hasShare && all <= (isAdmitted ? maximum : maximum / 2)
    }

    private func countShare(_ change: Int, of peer: PeerAddress) -> Bool {
        // Connections from this machine have no limit per peer, because a local proxy carries all clients.
        if peer.isLocal { return true }
        // Count without a limit too, because a reload may set one.
        return bufferedPerPeer.withLock { bytes in
            let held = bytes[peer.group, default: 0] + change
            bytes[peer.group] = held > 0 ? held : nil
            return held <= maximumBufferedBytesPerPeer.load(ordering: .relaxed)
        }
    }

    /// Counts a connection of `peer`; when the peer is at its limit, returns false and counts nothing.
    func add(_ peer: PeerAddress) -> Bool {
        // Count without a limit too, because a reload may set one.
        let isAllowed = perPeer.withLock { counts in
            let count = counts[peer.group, default: 0]
            guard count < maximumPerPeer.load(ordering: .relaxed) else { return false }
            counts[peer.group] = count + 1
            return true
        }
        guard isAllowed else { return false }
        total.add(1, ordering: .relaxed)
        return true
    }

    func remove(_ peer: PeerAddress) {
        total.subtract(1, ordering: .relaxed)
        perPeer.withLock { counts in
            // Remove the entry of a peer without connections.
            guard let count = counts[peer.group] else { return }
            counts[peer.group] = count > 1 ? count - 1 : nil
        }
    }
}
