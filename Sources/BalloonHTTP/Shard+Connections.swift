import BalloonPOSIX
import BalloonTLS
import Logging
import Synchronization

/// A listening socket in a shard's epoll set.
final class Acceptor {
    let socket: ListeningSocket
    let listener: Int
    /// The shards that receive connections.
    let shards: [Shard]
    var isPaused = false
    /// Whether the reason of the pause was logged; reset when all waiting connections are accepted.
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
    /// Accepts connections on `socket` for all `shards`, including this one.
    func accept(on socket: consuming ListeningSocket, _ listener: Int, shards: [Shard]) throws {
        let acceptor = Acceptor(socket, listener, shards: shards)
        try epoll.add(acceptor.socket.raw, .readable, token: acceptor.token)
        acceptors[listener] = acceptor
    }

    /// Accepts waiting connections and assigns each to the shard with the fewest.
    func acceptConnections(_ listener: Int) {
        guard let acceptor = acceptors[listener], !acceptor.isPaused else { return }
        let served = listeners[listener]
        for _ in 0..<256 {
            guard served.connections.value < served.limits.maximumConnections else {
                return pause(acceptor, "the listener is at its connection limit")
            }
            do throws(SystemError) {
                var peer = PeerAddress()
                guard let descriptor = try acceptor.socket.accept(from: &peer) else {
                    acceptor.hasWarned = false
                    return
                }
                // A connection over the limit of its peer closes without an answer.
                guard served.connections.add(peer), let shard = acceptor.leastLoaded else { continue }
                shard.connectionCount.add(1, ordering: .relaxed)
                if shard === self {
                    adopt(descriptor, peer, listener)
                } else {
                    shard.post(.accepted(raw: descriptor.release(), from: peer, listener: listener))
                }
            } catch {
                // The process is out of descriptors or memory; the connection stays in the kernel's queue.
                return pause(acceptor, "\(error)")
            }
        }
    }

    private func pause(_ acceptor: Acceptor, _ reason: String) {
        acceptor.isPaused = true
        if !acceptor.hasWarned {
            acceptor.hasWarned = true
            logger.warning("listener paused; new connections wait", metadata: ["reason": "\(reason)"])
        }
        // Never fails: the socket is in the set.
        try? epoll.modify(acceptor.socket.raw, .none, token: acceptor.token)
        startTicking()
    }

    func resumeAcceptors() {
        for acceptor in acceptors.values where acceptor.isPaused {
            acceptor.isPaused = false
            // Never fails: the socket is in the set.
            try? epoll.modify(acceptor.socket.raw, .readable, token: acceptor.token)
        }
    }

    /// Starts serving a counted connection.
    func adopt(_ descriptor: consuming Descriptor, _ peer: PeerAddress, _ listener: Int) {
        let served = listeners[listener]
        // If the memory for a TLS session is missing, close the connection.
        let tls = try? served.tls?.makeSession()
        if tls == nil, served.tls != nil { return uncount(peer, listener) }
        // A peer without an address is connected to a unix socket; the kernel knows the user of its process.
        let peerUser = peer == PeerAddress() ? descriptor.peerUser() : nil
        let connection = Connection(
            descriptor, token: slots.makeToken(), listener: served, number: listener, peer: peer,
            peerUser: peerUser, tls: tls)
        slots.insert(connection)
        do {
            try epoll.add(connection.descriptor.raw, .readable, token: connection.token)
        } catch {
            return close(connection)
        }
        setDeadline(connection, connection.listener.ticks.firstByte)
        if isStopping { serveOrKeep(connection) }
    }

    /// Reads once and serves a complete request; closes the connection when no byte of a request arrived.
    func serveOrClose(_ connection: Connection) {
        receive(connection)
        if connection.isOpen, connection.isIdle { close(connection) }
    }

    /// Updates the epoll set to the events that the connection now waits for.
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

    /// Removes the connection and resumes its waiting handlers with an error.
    ///
    /// The descriptor closes when the last reference to the connection is released.
    func close(_ connection: Connection) {
        guard connection.isOpen else { return }
        let phase = connection.phase
        connection.phase = .closed
        connection.retained = []
        slots.remove(connection)
        uncount(connection.peer, connection.listenerNumber)
        _ = connection.listener.connections.count(
            -connection.countedBytes, of: connection.peer, isAdmitted: false)
        // Remove the descriptor explicitly: code further up the stack may still hold the connection, which
        // keeps its descriptor open. The removal fails only for a descriptor that was never in the set.
        try? epoll.remove(connection.descriptor.raw)
        switch phase {
        case .answering(let exchange): exchange.pull?.fail(.disconnected)
        case .streaming(let exchange, let answer):
            answer.resumeWriter(throwing: .disconnected)
            unsubscribe(connection.exchangeID, answer)
            exchange.pull?.fail(.disconnected)
        case .head, .heldBack, .collecting, .collectingChunks, .closing, .lingering, .closed: break
        }
        leaveWhenDrained()
    }
}
