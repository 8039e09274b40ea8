import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTLS
import BalloonWire
package import Logging
import Synchronization

/// A fake of Apple's service for merchant sessions on a loopback address; its TLS clients need a certificate.
///
/// It writes into a folder the certificate of an authority, its own certificate and that of a merchant.
/// Sessions have Apple's format with a random signature.
package final class FakeMerchantSessions: Sendable {
    /// A fault of the service.
    package enum Fault: Hashable, Sendable {
        /// Answers with this status and Apple's `statusMessage`.
        case status(Int)
        /// Answers 200 with a page of HTML.
        case html
        /// Issues a session that expired a second ago.
        case expired
        /// Issues a session of another merchant.
        case otherMerchant
        /// Answers 200 with more than 64 KiB of blanks.
        case large
    }

    private struct State {
        var origin: String?
        var faults: [(fault: Fault, times: Int)] = []
        var contexts: [String] = []
        var count = 0
        var lifetime = Duration.seconds(300)
    }

    private static let path = "/paymentservices/paymentSession"
    private static let maximumRemembered = 10_000

    private let directory: String
    private let server: LoopbackServer
    private let state = Mutex(State())

    /// Writes the certificates into `directory`, an existing folder.
    ///
    /// Throws the errors of the disk, and `WireError.signingKeyRefused` when memory is exhausted.
    package init(directory: String, logger: Logger) throws {
        self.directory = directory
        self.server = LoopbackServer(logger: logger)
        let now = SystemClock.secondsSince1970()
        let validity = (now - 86_400)...(now + 3650 * 86_400)
        let authority = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "Simulated Apple Pay Root", key: .p256, isAuthority: true, validity: validity))
        let server = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "127.0.0.1", key: .p256, serverNames: "IP:127.0.0.1", isAuthority: false,
                validity: validity), issuer: authority)
        let merchant = try IssuedCertificate(
            IssuedCertificate.Request(
                name: "Simulated Merchant", key: .p256, isAuthority: false, validity: validity),
            issuer: authority)
        try AtomicFile.write(authority.pem, to: authoritiesFile)
        try AtomicFile.write(server.pem, to: directory + "/server.pem")
        try AtomicFile.write(server.keyPEM.bytes, to: directory + "/server-key.pem")
        try AtomicFile.write(merchant.pem, to: certificateFile)
        try AtomicFile.write(merchant.keyPEM.bytes, to: keyFile)
    }

    /// The PEM file of the authority that issued both certificates.
    package var authoritiesFile: String { directory + "/authority.pem" }
    /// The PEM file of the merchant's certificate.
    package var certificateFile: String { directory + "/merchant.pem" }
    /// The PEM file of the merchant's key.
    package var keyFile: String { directory + "/merchant-key.pem" }

    /// Starts serving on a free port of 127.0.0.1.
    package func start() async throws {
        let credentials = try TLSCredentials(
            certificateFile: directory + "/server.pem", keyFile: directory + "/server-key.pem",
            clientAuthoritiesFile: authoritiesFile)
        let route = HTTPRoute(.post, Self.path, body: .collected(maximumBytes: 65_536)) {
            [weak self] request, _ in self?.answer(request) ?? HTTPResponse(.serviceUnavailable)
        }
        let bound = try await server.start([route], tls: credentials)
        state.withLock { $0.origin = "https://\(bound)" }
    }

    /// Lets open requests finish within a second, then stops.
    package func stop() async { await server.stop() }

    /// The address of the service; nil before the start.
    package var sessionURL: String? { state.withLock(\.origin).map { $0 + Self.path } }

    /// Applies a fault to the next `times` requests; faults that were added earlier are applied first.
    package func misbehave(_ fault: Fault, times: Int = 1) {
        state.withLock { $0.faults.append((fault, times)) }
    }

    /// Sets the lifetime of the sessions that are issued from now on; it is 5 minutes at first.
    package func issue(for lifetime: Duration) { state.withLock { $0.lifetime = lifetime } }

    /// The number of requests so far.
    package var requestCount: Int { state.withLock(\.count) }

    /// The `initiativeContext` of each of the first 10,000 issued sessions, oldest first.
    package var contexts: [String] { state.withLock(\.contexts) }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        let fault = state.withLock { state -> Fault? in
            state.count += 1
            guard let first = state.faults.first else { return nil }
            if first.times > 1 { state.faults[0].times -= 1 } else { state.faults.removeFirst() }
            return first.fault
        }
        switch fault {
        case .status(let code): return Self.refusal(code)
        case .html: return HTTPResponse(.ok, text: "<!DOCTYPE html><title>Maintenance</title>")
        case .large:
            return HTTPResponse(.ok, json: [UInt8](repeating: 0x20, count: 65_536) + Array("{}".utf8))
        case .expired, .otherMerchant, nil: break
        }
        // Refuse a malformed body with 400, like a body with wrong values.
        guard let root = (try? JSONDocument(Array(request.body)))?.root,
            let merchant = root["merchantIdentifier"]?.string,
            let context = root["initiativeContext"]?.string,
            let domain = root["domainName"]?.string, let name = root["displayName"]?.string,
            root["initiative"]?.string == "messaging"
        else { return Self.refusal(400) }
        return session(
            merchant: fault == .otherMerchant ? merchant + ".other" : merchant, context, domain, name,
            isExpired: fault == .expired)
    }

    private func session(
        merchant: String, _ context: String, _ domain: String, _ name: String, isExpired: Bool
    ) -> HTTPResponse {
        let now = Timestamp.now()
        let lifetime = state.withLock { state -> Duration in
            if state.contexts.count < Self.maximumRemembered { state.contexts.append(context) }
            return isExpired ? .seconds(-1) : state.lifetime
        }
        let signed = ["merchantIdentifier", "domainName", "initiative", "initiativeContext", "displayName"]
        return HTTPResponse(
            .ok,
            json: JSONWriter.object([
                "epochTimestamp": Int(now.milliseconds),
                "expiresAt": Int(now.advanced(by: lifetime).milliseconds),
                "merchantSessionIdentifier": "PSH" + Hex.encode(randomBytes(32)),
                "nonce": Hex.encode(randomBytes(4)),
                "merchantIdentifier": Hex.encode(SHA256.hash(Array(merchant.utf8))).uppercased(),
                "domainName": domain, "displayName": name, "signature": Hex.encode(randomBytes(64)),
                "initiative": "messaging", "initiativeContext": context, "signedFields": signed,
            ]))
    }

    private static func refusal(_ code: Int) -> HTTPResponse {
        HTTPResponse(
            HTTPStatus(code: code) ?? .internalServerError,
            json: JSONWriter.object(["statusMessage": "Payment Services Exception", "statusCode": "\(code)"]))
    }
}
