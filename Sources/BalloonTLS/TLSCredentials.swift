internal import COpenSSL
import Synchronization

/// A server's certificate chain and private key from PEM files, which can be reloaded.
///
/// TLS 1.2 and 1.3 are supported; 1.2 only with cipher suites that have forward secrecy and authenticated
/// encryption. Clients may resume sessions with tickets. `http/1.1` is the only protocol (ALPN). Clients get
/// this certificate for every requested name (SNI).
package final class TLSCredentials: Sendable {
    private let certificateFile: String
    private let keyFile: String
    private let clientAuthoritiesFile: String?
    private let context: Mutex<TLSContext>

    /// Reads the files; throws ``TLSError/badCredentials(reason:)``.
    ///
    /// With `clientAuthoritiesFile`, a client must have a certificate that an authority in this PEM file has
    /// issued.
    package init(
        certificateFile: String, keyFile: String, clientAuthoritiesFile: String? = nil
    ) throws(TLSError) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
        self.clientAuthoritiesFile = clientAuthoritiesFile
        context = Mutex(try TLSContext(certificateFile, keyFile, clientAuthoritiesFile))
    }

    /// Reloads the files for new connections; after a failure the previous credentials stay.
    package func reload() throws(TLSError) {
        // Read the files before locking, because a connection that is being accepted needs the lock.
        let new = try TLSContext(certificateFile, keyFile, clientAuthoritiesFile)
        context.withLock { $0 = new }
    }

    /// The expiry of the current certificate, in seconds since 1970; nil when it cannot be represented.
    package var expirySecondsSince1970: Int? {
        let context = context.withLock { $0 }
        defer { withExtendedLifetime(context) {} }
        let expiry = unsafe balloon_tls_expiry(context.pointer)
        return expiry < 0 ? nil : Int(expiry)
    }

    /// Creates the TLS session of a new connection; throws ``TLSError/outOfMemory``.
    package func makeSession() throws(TLSError) -> TLSSession {
        let context = context.withLock { $0 }
        // A concurrent reload may replace the context, so keep this one alive until the call returns.
        defer { withExtendedLifetime(context) {} }
        guard let session = unsafe balloon_tls_session(context.pointer) else { throw .outOfMemory }
        return unsafe TLSSession(owning: session)
    }
}

/// The OpenSSL context, with certificate and key, that creates sessions.
///
/// A session may outlive this object, because OpenSSL counts the references to the context.
///
/// The context does not change after its creation, and any thread may create sessions from it.
@safe private final class TLSContext: Sendable {
    /// The context's address as a number, because pointers are not Sendable.
    private let address: UInt

    var pointer: OpaquePointer? { unsafe OpaquePointer(bitPattern: address) }

    init(_ certificateFile: String, _ keyFile: String, _ clientAuthoritiesFile: String?) throws(TLSError) {
        guard let context = unsafe balloon_tls_context(certificateFile, keyFile) else {
            throw .badCredentials(reason: firstReason())
        }
        if let clientAuthoritiesFile,
            unsafe balloon_tls_require_clients(context, clientAuthoritiesFile) != 1
        {
            let reason = firstReason()
            unsafe SSL_CTX_free(context)
            throw .badCredentials(reason: reason)
        }
        address = UInt(bitPattern: context)
    }

    deinit { unsafe SSL_CTX_free(pointer) }
}

/// Returns the first reason in the error queue that OpenSSL keeps for the current thread.
private func firstReason() -> String {
    guard let reason = unsafe balloon_tls_reason() else { return "unknown reason" }
    return unsafe String(cString: reason)
}
