package import BalloonPOSIX
import COpenSSL
import Glibc

/// A TLS client of OpenSSL on a blocking socket, which trusts one certificate.
package final class TLSClient {
    package enum Failure: Error { case handshake, closed }

    /// The data of a session that a client needs to resume it on another connection.
    package final class Ticket {
        fileprivate let session: OpaquePointer

        fileprivate init(_ session: OpaquePointer) { self.session = session }

        deinit { SSL_SESSION_free(session) }
    }

    private let context: OpaquePointer?
    private let session: OpaquePointer?
    private let descriptor: Descriptor

    /// Connects and shakes hands: with versions up to `maximum`, in 1.2 with `ciphers`, asking for `name`, offering
    /// `protocols`, resuming the session of `ticket`.
    package init(
        _ address: SocketAddress, trusting certificate: String, name: String = "localhost",
        maximum: Int32 = TLS1_3_VERSION, ciphers: String = "ALL", protocols: [String] = ["http/1.1"],
        resuming ticket: Ticket? = nil
    ) throws {
        descriptor = try Descriptor.connect(to: address)
        _ = fcntl(descriptor.raw, F_SETFL, 0)
        var wait = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor.raw, SOL_SOCKET, SO_RCVTIMEO, &wait, socklen_t(MemoryLayout<timeval>.size))
        context = SSL_CTX_new(TLS_client_method())
        // The client allows old versions, so that only the server can refuse them.
        SSL_CTX_set_security_level(context, 0)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_VERSION), nil)
        SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(maximum), nil)
        SSL_CTX_set_cipher_list(context, ciphers)
        SSL_CTX_load_verify_locations(context, certificate, nil)
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        session = SSL_new(context)
        let offered = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        SSL_set_alpn_protos(session, offered, UInt32(offered.count))
        var host = Array(name.utf8CString)
        SSL_ctrl(session, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &host)
        if let ticket { SSL_set_session(session, ticket.session) }
        SSL_set_fd(session, descriptor.raw)
        guard uninterrupted({ SSL_connect(session) }) == 1 else { throw Failure.handshake }
    }

    deinit {
        // OpenSSL resumes only sessions that were closed with `close_notify`.
        SSL_shutdown(session)
        SSL_free(session)
        SSL_CTX_free(context)
    }

    /// The ticket that resumes this session later; in TLS 1.3 it arrives with the first received bytes.
    package func ticket() -> Ticket? { SSL_get1_session(session).map { Ticket($0) } }

    /// Whether the session was resumed, so that no certificate was sent.
    package var isResumed: Bool { SSL_session_reused(session) == 1 }

    /// The number of certificates that the server sent.
    package var chainLength: Int { Int(OPENSSL_sk_num(SSL_get_peer_cert_chain(session))) }

    package var version: String { String(cString: SSL_get_version(session)) }

    /// The negotiated protocol.
    package var agreedProtocol: String {
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        SSL_get0_alpn_selected(session, &name, &length)
        return String(decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }

    package func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard uninterrupted({ SSL_write(session, bytes, Int32(bytes.count)) }) == Int32(bytes.count) else {
            throw Failure.closed
        }
    }

    /// Repeats an interrupted call: stopping and continuing a process interrupts calls with a timeout
    /// (signal(7)).
    private func uninterrupted(_ call: () -> Int32) -> Int32 {
        while true {
            errno = 0
            let result = call()
            if result > 0 || errno != EINTR { return result }
        }
    }

    /// All data up to the server's `close_notify`; throws when the connection ends without it.
    package func rest() throws -> String {
        var received: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = uninterrupted { SSL_read(session, &piece, Int32(piece.count)) }
            if count > 0 {
                received += piece[..<Int(count)]
            } else if SSL_get_error(session, count) == SSL_ERROR_ZERO_RETURN {
                return String(decoding: received, as: UTF8.self)
            } else {
                throw Failure.closed
            }
        }
    }
}
