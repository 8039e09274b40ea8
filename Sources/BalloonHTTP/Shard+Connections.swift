import BalloonPOSIX
import BalloonTLS
import Logging
import Synchronization

/// A listening socket in a shard's epoll set.
final class Acceptor {
    let socket: ListeningSocket
    let listener: Int
    /// The shards that connections are handed to.
    let shards: [Shard]
    var isPaused = false
    /// Whether the reason of the last pause has been logged.
    var hasWarned = false

    init(_ socket: consuming ListeningSocket, _ listener: Int, shards: [Shard]) {
        self.socket = socket
        self.listener = listener
        self.shards = shards
    }

    var token: UInt64 { Shard.firstAcceptorToken + UInt64(listener) }

    var leastLoaded: Shard? {
        shards.min {
            $0.connectionCount.load(ordering: .relaxed) < $1.connectionCount.load(ordering: .relaxed)
        }
    }
}

extension Shard {
    /// Accepts connections on `socket` for itself and its peers, all of which are `shards`.
    func accept(on socket: consuming ListeningSocket, _ listener: Int, shards: [Shard]) throws {
        let acceptor = Acceptor(socket, listener, shards: shards)
        try epoll.add(acceptor.socket.raw, .readable, token: acceptor.token)
        acceptors[listener] = acceptor
    }

    /// Takes waiting connections and gives each to the shard that has the fewest.
    func acceptConnections(_ listener: Int) {
        guard let acceptor = acceptors[listener], !acceptor.isPaused else { return }
        let served = listeners[listener]
        for _ in 0..<256 {
            guard served.connections.value < served.limits.maximumConnections else {
                return pause(acceptor, "the listener has all the connections it may have")
            }
            do throws(SystemError) {
                var peer = PeerAddress()
                guard let descriptor = try acceptor.socket.accept(from: &peer) else {
                    acceptor.hasWarned = false
                    return
                }
                // Who has too many is not worth an answer.
                guard served.connections.add(peer), let shard = acceptor.leastLoaded else { continue }
                shard.connectionCount.add(1, ordering: .relaxed)
                if shard === self {
                    adopt(descriptor, peer, listener)
                } else {
                    shard.post(.accepted(raw: descriptor.release(), from: peer, listener: listener))
                }
            } catch {
                // Out of descriptors or memory: the connection waits in the kernel's queue until there are some.
                return pause(acceptor, "\(error)")
            }
        }
    }

    private func pause(_ acceptor: Acceptor, _ reason: String) {
        acceptor.isPaused = true
        if !acceptor.hasWarned {
            acceptor.hasWarned = true
            logger.warning("accepting is paused", metadata: ["reason": "\(reason)"])
        }
        // Cannot fail: the socket is in the set.
        try? epoll.modify(acceptor.socket.raw, .none, token: acceptor.token)
        startTicking()
    }

    func resumeAcceptors() {
        for acceptor in acceptors.values where acceptor.isPaused {
            acceptor.isPaused = false
            // Cannot fail: the socket is in the set.
            try? epoll.modify(acceptor.socket.raw, .readable, token: acceptor.token)
        }
    }

    /// Begins to serve a connection that has been counted.
    func adopt(_ descriptor: consuming Descriptor, _ peer: PeerAddress, _ listener: Int) {
        let served = listeners[listener]
        // Without memory for a session the connection is closed, for want of anything better.
        let tls = try? served.tls?.makeSession()
        if tls == nil, served.tls != nil { return uncount(peer, listener) }
        let connection = Connection(
            descriptor, token: slots.makeToken(), listener: served, number: listener, peer: peer, tls: tls)
        slots.insert(connection)
        do {
            try epoll.add(connection.descriptor.raw, .readable, token: connection.token)
        } catch {
            return close(connection)
        }
        setDeadline(connection, connection.listener.ticks.firstByte)
        if isStopping { serveOrClose(connection) }
    }

    /// Serves the request that has arrived, or closes when there is none.
    func serveOrClose(_ connection: Connection) {
        receive(connection)
        if connection.isOpen, connection.isIdle { close(connection) }
    }

    /// Brings the epoll set in line with what the connection waits for now.
    func updateInterest(_ connection: Connection) {
        let wanted = connection.wantedInterest
        guard connection.isOpen, wanted.rawValue != connection.interest.rawValue else { return }
        connection.interest = wanted
        do {
            try epoll.modify(connection.descriptor.raw, wanted, token: connection.token)
        } catch {
            close(connection)
        }
    }

    /// Forgets the connection and fails whoever waits for it; the descriptor closes with its last reference.
    func close(_ connection: Connection) {
        guard connection.isOpen else { return }
        let phase = connection.phase
        connection.phase = .closed
        slots.remove(connection)
        uncount(connection.peer, connection.listenerNumber)
        _ = connection.listener.connections.count(
            -connection.countedBytes, of: connection.peer, isAdmitted: false)
        // Removed by hand, because what is left of this burst may still hold the connection, and with it the
        // descriptor. Fails only when it never came into the set.
        try? epoll.remove(connection.descriptor.raw)
        switch phase {
        case .answering(let exchange): exchange.pull?.fail(.disconnected)
        case .streaming(let exchange, let answer):
            answer.resumeWriter(throwing: .disconnected)
            exchange.pull?.fail(.disconnected)
        case .head, .heldBack, .collecting, .collectingChunks, .closing, .lingering, .closed: break
        }
        leaveWhenDrained()
    }
}
