import BalloonJSON
package import BalloonPOSIX
package import BalloonWire
package import Logging
import Synchronization

/// A fake identity provider on a loopback address, with OAuth 2.0, OpenID Connect, and faults on request.
///
/// It enforces S256, uses each code once, and repeats the nonce. Every user name signs in; the password and
/// the one-time code are not checked, because no account exists. The subject is `user-` followed by the user
/// name. When 10,000 codes exist, a new code drops all of them; the same holds for access tokens.
package final class FakeProvider: Sendable {
    private struct State {
        var issuer: String?
        var key: SigningKey
        var keyNumber = 1
        var clientKeys: [String: PublicKey] = [:]
        var codes: [String: FakeGrant] = [:]
        var accessTokens: [String: FakeGrant] = [:]
        var faults: [ProviderFault] = []
        var requests: [ProviderEndpoint: Int] = [:]
        var secrets: Set<String> = []
    }

    private static let maximumGrants = 10_000

    private let clients: [String: Secret?]
    private let state: Mutex<State>
    private let server: LoopbackServer

    /// Creates a provider with one key for `algorithm`.
    ///
    /// `clients` maps each client's identifier to its secret; a client with a nil secret is checked by the
    /// PKCE challenge only. Throws only when memory is exhausted.
    package init(
        clients: [String: Secret?], signing algorithm: SignatureAlgorithm = .rs256, logger: Logger
    ) throws(WireError) {
        self.clients = clients
        server = LoopbackServer(logger: logger)
        state = Mutex(State(key: try SigningKey(for: algorithm)))
    }

    /// Starts serving and returns the bound address, whose port the system chooses; throws a ``SystemError``.
    package func start() async throws -> SocketAddress {
        // The routes hold the provider until it stops.
        let bound = try await server.start(FakeProviderEndpoints(provider: self).routes)
        state.withLock { $0.issuer = "http://\(bound)" }
        return bound
    }

    /// Lets open requests finish within `grace`, then drops the remaining connections and stops.
    package func stop(within grace: Duration = .seconds(1)) async {
        await server.stop(within: grace)
    }

    /// The provider's identifier, `http://127.0.0.1:PORT`; nil before the start.
    package var issuer: String? { state.withLock { $0.issuer } }

    /// Applies a fault to each later request that the fault concerns, until ``behave()``.
    package func misbehave(_ fault: ProviderFault) { state.withLock { $0.faults.append(fault) } }

    /// Ends all faults.
    package func behave() { state.withLock { $0.faults = [] } }

    /// Replaces the signing key by a new one of the same algorithm, with a new `kid`; the old key is forgotten.
    package func rotateKeys() throws(WireError) {
        let key = try SigningKey(for: key.key.publicKey.algorithm)
        state.withLock { state in
            state.key = key
            state.keyNumber += 1
        }
    }

    /// Registers the key that verifies a client's `private_key_jwt`.
    package func register(_ key: PublicKey, of clientID: String) {
        state.withLock { $0.clientKeys[clientID] = key }
    }

    /// Accepts a token that another program created, as if this provider had issued it to a client for a
    /// user.
    package func accept(accessToken: String, ofUser user: String, clientID: String) {
        let grant = FakeGrant(
            clientID: clientID, redirectURI: "", scope: "", challenge: nil, nonce: nil, user: user)
        state.withLock { $0.accessTokens[accessToken] = grant }
    }

    /// The codes, tokens and verifiers of all sign-ins so far, so that a test can search for them.
    package var secrets: Set<String> { state.withLock { $0.secrets } }

    /// The number of requests that an endpoint received.
    package func requestCount(_ endpoint: ProviderEndpoint) -> Int {
        state.withLock { $0.requests[endpoint] ?? 0 }
    }
}

// The endpoints' view of the state.
extension FakeProvider {
    var faults: [ProviderFault] { state.withLock { $0.faults } }
    var key: (key: SigningKey, id: String) { state.withLock { ($0.key, "key-\($0.keyNumber)") } }

    func count(_ endpoint: ProviderEndpoint) { state.withLock { $0.requests[endpoint, default: 0] += 1 } }
    func has(_ fault: ProviderFault) -> Bool { faults.contains(fault) }

    func isClient(_ clientID: String) -> Bool { clients[clientID] != nil }

    /// Whether `secret` is the client's secret; a client without a secret must send none.
    func isProven(_ clientID: String, secret: String?) -> Bool {
        guard let expected = clients[clientID] else { return false }
        guard let expected else { return secret == nil }
        return secret.map { constantTimeEquals($0.utf8, expected.bytes) } ?? false
    }

    /// Whether a `private_key_jwt` is valid and signed with the client's registered key.
    func isProven(_ clientID: String, assertion: String) -> Bool {
        guard let key = state.withLock({ $0.clientKeys[clientID] }),
            // Treat a malformed assertion like an assertion that is signed with another key.
            let token = try? SignedToken(assertion), token.isSigned(by: key),
            let claims = (try? JSONDocument(token.claims))?.root
        else { return false }
        let now = SystemClock.secondsSince1970()
        return claims["iss"]?.equals(clientID) == true && claims["sub"]?.equals(clientID) == true
            && claims["aud"]?.string == issuer && claims["jti"]?.string?.isEmpty == false
            && claims["exp"]?.int.map { (now...now + 60).contains($0) } == true
    }

    func newCode(for grant: FakeGrant) -> String { newSecret(for: grant, in: \.codes) }

    /// Removes the grant of a code, so that the code works once.
    func redeem(_ code: String) -> FakeGrant? { state.withLock { $0.codes.removeValue(forKey: code) } }

    func newAccessToken(for grant: FakeGrant) -> String { newSecret(for: grant, in: \.accessTokens) }

    private func newSecret(
        for grant: FakeGrant, in grants: WritableKeyPath<State, [String: FakeGrant]>
    ) -> String {
        let secret = Base64.encode(randomBytes(24), alphabet: .url)
        record(secret)
        state.withLock { state in
            if state[keyPath: grants].count >= Self.maximumGrants { state[keyPath: grants] = [:] }
            state[keyPath: grants][secret] = grant
        }
        return secret
    }

    func grant(of accessToken: String) -> FakeGrant? { state.withLock { $0.accessTokens[accessToken] } }

    /// Records a secret that the provider issued or received.
    func record(_ secret: String?) {
        guard let secret else { return }
        state.withLock { state in
            if state.secrets.count >= 4 * Self.maximumGrants { state.secrets = [] }
            state.secrets.insert(secret)
        }
    }
}

/// The authorization that a customer granted to a client on the sign-in page.
struct FakeGrant: Sendable {
    let clientID: String
    let redirectURI: String
    let scope: String
    let challenge: String?
    let nonce: String?
    let user: String
}

/// The endpoints of the fake provider; the raw value is the path.
package enum ProviderEndpoint: String, Sendable, CaseIterable {
    case discovery = "/.well-known/openid-configuration"
    case authorize = "/authorize"
    case token = "/token"
    case keys = "/jwks"
    case userinfo = "/userinfo"
    case introspection = "/introspect"
}

/// A fault of the fake provider.
package enum ProviderFault: Sendable, Hashable {
    /// Every customer is declined: `access_denied`.
    case denies
    /// The endpoint answers after this time.
    case slow(ProviderEndpoint, Duration)
    /// The endpoint answers with this status and an HTML page.
    case fails(ProviderEndpoint, HTTPStatusCode)
    /// The endpoint answers 200 with an HTML page.
    case html(ProviderEndpoint)
    /// The endpoint answers with a body of this many bytes.
    case large(ProviderEndpoint, bytes: Int)
    /// The endpoint redirects to itself.
    case redirects(ProviderEndpoint)
    /// The endpoint's JSON ends in the middle.
    case truncates(ProviderEndpoint)
    /// The answer with the keys has this `Cache-Control`.
    case cachesKeys(String)
    /// The token answer has no id_token.
    case omitsIDToken
    /// Each code is refused: `invalid_grant`.
    case refusesGrant
    /// The id_token breaks a rule.
    case idToken(IDTokenFault)
    /// Userinfo has another person's `sub`.
    case otherPerson
    /// Userinfo is a signed token.
    case signsUserinfo
    /// Introspection says that the token belongs to another client.
    case otherClient
    /// Introspection says that the token is not active.
    case inactive
    /// The callback has the state with one bit changed.
    case changesState
    /// The callback names another issuer.
    case wrongIssuer
    /// The callback names no issuer, though discovery announces one.
    case omitsIssuer
    /// Discovery names another issuer.
    case wrongDiscovery

    /// A status as a number.
    package typealias HTTPStatusCode = Int
}

/// A rule that the id_token of the fake provider breaks.
package enum IDTokenFault: String, Sendable, Hashable, CaseIterable {
    case algorithmNone, hs256, wrongIssuer, wrongAudience, wrongNonce, missingNonce, expired, unknownKey
    case critical, smallKey, repeatedMember, encrypted, wrongSignature
}
