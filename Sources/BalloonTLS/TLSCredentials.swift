internal import COpenSSL
import Synchronization

/// A server's certificate chain and key, read from PEM files, and read again when it is told to.
///
/// TLS 1.2 and 1.3; in 1.2 only suites with forward secrecy and authenticated encryption; sessions are resumed by
/// tickets; `http/1.1` is the only protocol (ALPN). Whatever name the client asks for (SNI), it gets this certificate.
package final class TLSCredentials: Sendable {
    private let certificateFile: String
    private let keyFile: String
    private let context: Mutex<TLSContext>

    /// Reads both files; throws ``TLSError/badCredentials(reason:)``.
    package init(certificateFile: String, keyFile: String) throws(TLSError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        context = Mutex(try TLSContext(certificateFile, keyFile))
    }

    /// Reads both files again, for the connections that come; what was there stays when that fails.
    package func reload() throws(TLSError) {
        // Before the lock is taken, for which shards wait.
        let new = try TLSContext(certificateFile, keyFile)
        context.withLock { $0 = new }
    }

    /// Begins a connection's session; throws ``TLSError/outOfMemory``.
    package func makeSession() throws(TLSError) -> TLSSession {
        let context = context.withLock { $0 }
        // The context, which a reload may replace now, lives until the call has returned.
        defer { withExtendedLifetime(context) {} }
        guard let session = unsafe balloon_tls_session(context.pointer) else { throw .outOfMemory }
        return unsafe TLSSession(owning: session)
    }
}

/// What sessions are made from; OpenSSL counts references, so sessions outlive it.
///
/// Once made it is not changed, and OpenSSL lets any thread make sessions from it.
@safe private final class TLSContext: Sendable {
    /// The context's address, as a number, because a pointer cannot be shared.
    private let address: UInt

    var pointer: OpaquePointer? { unsafe OpaquePointer(bitPattern: address) }

    init(_ certificateFile: String, _ keyFile: String) throws(TLSError) {
        guard let context = unsafe balloon_tls_context(certificateFile, keyFile) else {
            throw .badCredentials(reason: firstReason())
        }
        address = UInt(bitPattern: context)
    }

    deinit { unsafe SSL_CTX_free(pointer) }
}

/// The first words of OpenSSL's error queue, which is the thread's own.
private func firstReason() -> String {
    guard let reason = unsafe balloon_tls_reason() else { return "unknown reason" }
    return unsafe String(cString: reason)
}
