internal import COpenSSL

/// The server's side of one TLS connection, without a socket: the caller passes the received bytes and sends
/// the returned ones.
///
/// A session belongs to one isolation domain. After an error only ``takeReplies(into:)`` may be called, which
/// returns the alert.
@safe package final class TLSSession {
    private let pointer: OpaquePointer

    /// Takes ownership of a session made by `balloon_tls_session`.
    init(owning pointer: OpaquePointer) { unsafe self.pointer = pointer }

    deinit { unsafe SSL_free(pointer) }

    /// The number of decrypted bytes, and whether the peer has ended its data.
    package struct Opened: Sendable, Hashable {
        /// The number of decrypted bytes, which are at the start of the buffer.
        package var count = 0
        /// Whether the peer's `close_notify` arrived.
        package var isFinished = false
    }

    /// Decrypts all complete records of the first `count` received bytes to the start of `plain`.
    ///
    /// The first records are the handshake; ``takeReplies(into:)`` returns the answers to it. `plain` must
    /// have room for `count` bytes and one more record (16 KiB). Throws ``TLSError/protocolFailure``, or
    /// ``TLSError/outOfMemory``.
    package func open(_ received: [UInt8], count: Int, into plain: inout [UInt8]) throws(TLSError) -> Opened {
        precondition(count <= received.count && plain.count >= count + 16384)
        ERR_clear_error()
        // Sound: the range ..<count lies inside the array's storage.
        let taken = unsafe received.withUnsafeBytes { bytes in
            unsafe BIO_write(SSL_get_rbio(pointer), bytes.baseAddress, Int32(count))
        }
        guard Int(taken) == count else { throw .outOfMemory }
        var opened = Opened()
        while opened.count < plain.count {
            let offset = opened.count
            // Sound: the range offset..<count lies inside the array's storage, which the call may write.
            let status = unsafe plain.withUnsafeMutableBytes { bytes in
                unsafe SSL_read(
                    pointer, bytes.baseAddress.map { unsafe $0 + offset }, Int32(bytes.count - offset))
            }
            if status > 0 {
                opened.count += Int(status)
                continue
            }
            switch unsafe SSL_get_error(pointer, status) {
            case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return opened
            case SSL_ERROR_ZERO_RETURN:
                opened.isFinished = true
                return opened
            default: throw .protocolFailure
            }
        }
        return opened
    }

    /// Appends the bytes that are ready to be sent: handshake messages, or the alert of an error.
    package func takeReplies(into sealed: inout [UInt8]) {
        let output = unsafe SSL_get_wbio(pointer)
        let pending = unsafe BIO_ctrl_pending(output)
        guard pending > 0 else { return }
        let start = sealed.count
        sealed.append(contentsOf: repeatElement(0, count: pending))
        // Sound: `pending` bytes were added after `start`.
        let taken = unsafe sealed.withUnsafeMutableBytes { bytes in
            unsafe BIO_read(output, bytes.baseAddress.map { unsafe $0 + start }, Int32(pending))
        }
        sealed.removeLast(pending - max(0, Int(taken)))
    }

    /// Encrypts `plain` and appends the result; throws ``TLSError/protocolFailure`` before the end of the
    /// handshake.
    package func seal(_ plain: [UInt8], into sealed: inout [UInt8]) throws(TLSError) {
        guard !plain.isEmpty else { return }
        ERR_clear_error()
        // Sound: the call reads only the array's storage. OpenSSL writes to memory, so it accepts all bytes
        // or fails.
        let status = unsafe plain.withUnsafeBytes { bytes in
            unsafe SSL_write(pointer, bytes.baseAddress, Int32(clamping: bytes.count))
        }
        guard Int(status) == plain.count else { throw .protocolFailure }
        takeReplies(into: &sealed)
    }

    /// Appends the alert `close_notify`, which shows the peer that the data is complete.
    package func finish(into sealed: inout [UInt8]) {
        ERR_clear_error()
        // Before the end of the handshake the call fails. Ignore the error, because there is no session to
        // end.
        _ = unsafe SSL_shutdown(pointer)
        takeReplies(into: &sealed)
    }
}
