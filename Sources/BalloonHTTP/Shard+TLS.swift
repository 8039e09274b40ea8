import BalloonPOSIX
import BalloonTLS

extension Shard {
    /// Decrypts the received bytes into `opened`; returns their number, or nil when the connection has
    /// closed.
    func open(_ connection: Connection, _ tls: TLSSession, _ received: Int) -> Int? {
        do {
            let result = try tls.open(scratch, count: received, into: &opened)
            sendReplies(connection, tls)
            if result.isFinished { connection.isPeerFinished = true }
            return connection.isOpen ? result.count : nil
        } catch {
            // A TLS alert, if there is one, tells the client the reason.
            sendReplies(connection, tls)
            close(connection)
            return nil
        }
    }

    /// Sends the handshake messages and alerts that the TLS session has produced.
    private func sendReplies(_ connection: Connection, _ tls: TLSSession) {
        tls.takeReplies(into: &sealed)
        if !sealed.isEmpty { transmit(connection, sealed) }
        emptySealed()
    }

    /// Encrypts and sends `bytes`.
    func sendSealed(_ connection: Connection, _ tls: TLSSession, _ bytes: [UInt8]) {
        do throws(TLSError) {
            try tls.seal(bytes, into: &sealed)
        } catch {
            connection.hasLostOutput = true
            return close(connection)
        }
        transmit(connection, sealed)
        emptySealed()
    }

    private func emptySealed() {
        sealed.removeAll(keepingCapacity: sealed.capacity <= 1 << 20)
    }

    /// Sends `close_notify`, which tells the peer that the answer was not truncated.
    func sendEnd(_ connection: Connection, _ tls: TLSSession) {
        tls.finish(into: &sealed)
        // Ignore errors and unsent bytes: these are the last bytes of the connection.
        _ = try? connection.descriptor.send(sealed)
        emptySealed()
    }
}
