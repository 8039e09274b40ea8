import BalloonPOSIX
import BalloonTLS

extension Shard {
    /// Takes TLS off what was received; returns how many bytes that leaves, nil when the connection is closed.
    func open(_ connection: Connection, _ tls: TLSSession, _ received: Int) -> Int? {
        do {
            let result = try tls.open(scratch, count: received, into: &opened)
            sendReplies(connection, tls)
            if result.isFinished { connection.isPeerFinished = true }
            return connection.isOpen ? result.count : nil
        } catch {
            // The alert says why, if there is one.
            sendReplies(connection, tls)
            close(connection)
            return nil
        }
    }

    /// Sends what the handshake has to say.
    private func sendReplies(_ connection: Connection, _ tls: TLSSession) {
        tls.takeReplies(into: &sealed)
        if !sealed.isEmpty { transmit(connection, sealed) }
        emptySealed()
    }

    /// Puts TLS on the answers and sends them.
    func sendSealed(_ connection: Connection, _ tls: TLSSession) {
        do throws(TLSError) {
            try tls.seal(out, into: &sealed)
        } catch {
            return close(connection)
        }
        transmit(connection, sealed)
        emptySealed()
    }

    private func emptySealed() {
        sealed.removeAll(keepingCapacity: sealed.capacity <= 1 << 20)
    }

    /// Tells the peer that nothing was cut off.
    func sendEnd(_ connection: Connection, _ tls: TLSSession) {
        tls.finish(into: &sealed)
        // The last that is sent: a peer that does not take it has gone.
        _ = try? connection.descriptor.send(sealed)
        emptySealed()
    }
}
