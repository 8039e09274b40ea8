import BalloonPOSIX
import BalloonTLS

extension Shard {
    /// Decrypts received bytes; returns the number of plain bytes, nil when the connection is closed.
    func open(_ connection: Connection, _ tls: TLSSession, _ received: Int) -> Int? {
        do {
            let result = try tls.open(scratch, count: received, into: &opened)
            sendReplies(connection, tls)
            if result.isFinished { connection.isPeerFinished = true }
            return connection.isOpen ? result.count : nil
        } catch {
            // The alert, if there is one, names the reason.
            sendReplies(connection, tls)
            close(connection)
            return nil
        }
    }

    /// Sends handshake messages.
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
            return close(connection)
        }
        transmit(connection, sealed)
        emptySealed()
    }

    private func emptySealed() {
        sealed.removeAll(keepingCapacity: sealed.capacity <= 1 << 20)
    }

    /// Sends `close_notify`, so that the peer can rule out truncation.
    func sendEnd(_ connection: Connection, _ tls: TLSSession) {
        tls.finish(into: &sealed)
        // These are the last bytes: when the peer does not read them, it has disconnected.
        _ = try? connection.descriptor.send(sealed)
        emptySealed()
    }
}
