import BalloonJSON
import BalloonPOSIX
import BalloonWire
import Synchronization

/// The authorization that a customer granted to a client on the sign-in page.
struct FakeGrant: Sendable {
    let clientID: String
    let redirectURI: String
    let scope: String
    let challenge: String?
    let nonce: String?
    let user: String
}

/// The clients, codes, tokens, keys and faults of a fake provider.
///
/// When 10,000 codes exist, a new code drops all of them; the same holds for access tokens.
final class FakeProviderMemory: Sendable {
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

    init(clients: [String: Secret?], key: SigningKey) {
        self.clients = clients
        state = Mutex(State(key: key))
    }

    var issuer: String? { state.withLock { $0.issuer } }
    var faults: [ProviderFault] { state.withLock { $0.faults } }
    var key: (key: SigningKey, id: String) { state.withLock { ($0.key, "key-\($0.keyNumber)") } }

    func open(at address: SocketAddress) { state.withLock { $0.issuer = "http://\(address)" } }
    func add(_ fault: ProviderFault) { state.withLock { $0.faults.append(fault) } }
    func removeFaults() { state.withLock { $0.faults = [] } }
    func register(_ key: PublicKey, of clientID: String) { state.withLock { $0.clientKeys[clientID] = key } }
    func requestCount(_ endpoint: ProviderEndpoint) -> Int { state.withLock { $0.requests[endpoint] ?? 0 } }
    func count(_ endpoint: ProviderEndpoint) { state.withLock { $0.requests[endpoint, default: 0] += 1 } }
    var secrets: Set<String> { state.withLock { $0.secrets } }
    func has(_ fault: ProviderFault) -> Bool { faults.contains(fault) }

    func rotateKeys() throws(WireError) {
        let key = try SigningKey(for: key.key.publicKey.algorithm)
        state.withLock { state in
            state.key = key
            state.keyNumber += 1
        }
    }

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

    func newCode(for grant: FakeGrant) -> String {
        let code = Self.random()
        record(code)
        state.withLock { state in
            if state.codes.count >= Self.maximumGrants { state.codes = [:] }
            state.codes[code] = grant
        }
        return code
    }

    /// Removes the grant of a code, so that the code works once.
    func redeem(_ code: String) -> FakeGrant? { state.withLock { $0.codes.removeValue(forKey: code) } }

    func newAccessToken(for grant: FakeGrant) -> String {
        let token = Self.random()
        record(token)
        state.withLock { state in
            if state.accessTokens.count >= Self.maximumGrants { state.accessTokens = [:] }
            state.accessTokens[token] = grant
        }
        return token
    }

    func accept(_ accessToken: String, for grant: FakeGrant) {
        state.withLock { $0.accessTokens[accessToken] = grant }
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

    private static func random() -> String { Base64.encode(randomBytes(24), alphabet: .url) }
}
