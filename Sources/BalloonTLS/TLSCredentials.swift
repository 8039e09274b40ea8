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
        try context.withLock { context throws(TLSError) in
            context = try TLSContext(certificateFile, keyFile)
        }
    }

    /// Begins a connection's session; throws ``TLSError/outOfMemory``.
    package func makeSession() throws(TLSError) -> TLSSession {
        // As a number, because a pointer cannot leave the lock; it is the session's alone from here on.
        let session = context.withLock { unsafe UInt(bitPattern: balloon_tls_session($0.pointer)) }
        guard let pointer = unsafe OpaquePointer(bitPattern: session) else { throw .outOfMemory }
        return unsafe TLSSession(owning: pointer)
    }
}

/// What sessions are made from; OpenSSL counts references, so sessions outlive it.
@safe private final class TLSContext {
    let pointer: OpaquePointer

    init(_ certificateFile: String, _ keyFile: String) throws(TLSError) {
        guard let context = unsafe balloon_tls_context(certificateFile, keyFile) else {
            throw .badCredentials(reason: firstReason())
        }
        unsafe pointer = context
    }

    deinit { unsafe SSL_CTX_free(pointer) }
}

/// The first words of OpenSSL's error queue, which is the thread's own.
private func firstReason() -> String {
    guard let reason = unsafe balloon_tls_reason() else { return "unknown reason" }
    return unsafe String(cString: reason)
}
