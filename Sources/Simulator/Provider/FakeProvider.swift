package import BalloonPOSIX
package import BalloonWire
package import Logging

/// A fake identity provider on a loopback address, with OAuth 2.0, OpenID Connect, and faults on request.
///
/// It enforces S256, uses each code once, and repeats the nonce. Every user name signs in; the password and
/// the one-time code are not checked, because no account exists. The subject is `user-` followed by the user
/// name.
package final class FakeProvider: Sendable {
    private let address: SocketAddress
    private let memory: FakeProviderMemory
    private let server: LoopbackServer

    /// Creates a provider with one key for `algorithm`; with port 0 the system chooses the port.
    ///
    /// `clients` maps each client's identifier to its secret; a client with a nil secret is checked by the
    /// PKCE challenge only. Throws only when memory is exhausted.
    package init(
        clients: [String: Secret?], signing algorithm: SignatureAlgorithm = .rs256,
        address: SocketAddress = .tcp(host: "127.0.0.1", port: 0), logger: Logger
    ) throws(WireError) {
        self.address = address
        server = LoopbackServer(logger: logger)
        memory = FakeProviderMemory(clients: clients, key: try SigningKey(for: algorithm))
    }

    /// Starts serving and returns the bound address.
    ///
    /// Throws ``SimulatorError/addressNotLoopback``, or a ``SystemError`` when the address is in use.
    package func start() async throws -> SocketAddress {
        let bound = try await server.start(at: address, FakeProviderEndpoints(memory: memory).routes)
        memory.open(at: bound)
        return bound
    }

    /// Lets open requests finish within `grace`, then drops the remaining connections and stops.
    package func stop(within grace: Duration = .seconds(1)) async {
        await server.stop(within: grace)
    }

    /// The provider's identifier, `http://127.0.0.1:PORT`; nil before the start.
    package var issuer: String? { memory.issuer }

    /// Applies a fault to each later request that the fault concerns, until ``behave()``.
    package func misbehave(_ fault: ProviderFault) { memory.add(fault) }

    /// Ends all faults.
    package func behave() { memory.removeFaults() }

    /// Replaces the signing key by a new one of the same algorithm, with a new `kid`; the old key is forgotten.
    package func rotateKeys() throws(WireError) { try memory.rotateKeys() }

    /// Registers the key that verifies a client's `private_key_jwt`.
    package func register(_ key: PublicKey, of clientID: String) { memory.register(key, of: clientID) }

    /// Accepts a token that another program created, as if this provider had issued it to a client for a
    /// user.
    package func accept(accessToken: String, ofUser user: String, clientID: String) {
        memory.accept(
            accessToken,
            for: FakeGrant(
                clientID: clientID, redirectURI: "", scope: "", challenge: nil, nonce: nil, user: user))
    }

    /// The codes, tokens and verifiers of all sign-ins so far, so that a test can search for them.
    package var secrets: Set<String> { memory.secrets }

    /// The number of requests that an endpoint received.
    package func requestCount(_ endpoint: ProviderEndpoint) -> Int { memory.requestCount(endpoint) }
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
