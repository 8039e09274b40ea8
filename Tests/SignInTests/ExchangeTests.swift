import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Logging
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import SignIn

/// A started fake provider, our client there, and a customer who signs in at its page.
struct ProviderUnderTest {
    let fake: FakeProvider
    let client: SignInClient
    var provider: Provider
    let transport: CurlTransport
    let clocks: TestClocks

    static let secret = "s3cret +&%"
    static let redirectURI = "https://shop.example/auth/shop/callback"

    init(
        signing algorithm: SignatureAlgorithm = .es256, authentication: ClientAuthentication? = nil,
        scope: [String] = ["openid", "email"]
    ) async throws {
        let secret = try Secret(Array(Self.secret.utf8))
        fake = try FakeProvider(
            clients: ["balloon": secret, "classic": secret, "public": Secret?.none], signing: algorithm,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        _ = try await fake.start()
        transport = try CurlTransport()
        clocks = TestClocks()
        client = try SignInClient(
            transport: transport, threads: PublicKeyThreads(), clock: clocks.clock)
        provider = Provider(
            issuer: fake.issuer, clientID: "balloon", clientAuthentication: authentication ?? .post(secret),
            scope: scope)
        provider.allowsLoopback = true
    }

    /// Signs in like a browser and returns the attempt with the provider's callback.
    func visit(
        user: String = "alice", _ attempt: SignInAttempt? = nil
    ) async throws -> (SignInAttempt, SignInCallback) {
        let attempt = attempt ?? SignInAttempt(at: provider, redirectURI: Self.redirectURI)
        var fields = [
            ("client_id", provider.clientID), ("redirect_uri", attempt.redirectURI), ("state", attempt.state),
            ("response_type", "code"), ("scope", attempt.scope.joined(separator: "%20")), ("username", user),
        ].map { "\($0)=\($1)" }
        if let more = try attempt.additionalParameters() { fields.append(more) }
        let answer = try await transport.send(
            TransportRequest(
                method: "POST", url: (fake.issuer ?? "") + "/authorize",
                body: Array(fields.joined(separator: "&").utf8), allowsPlainHTTP: true))
        let location = try #require(answer.header("location"))
        #expect(location.hasPrefix(Self.redirectURI + "?"))
        let query = location.dropFirst(Self.redirectURI.utf8.count + 1)
        return (attempt, try SignInCallback(query.utf8))
    }

    func exchange(
        _ attempt: SignInAttempt, _ callback: SignInCallback, within time: Duration = .seconds(20)
    ) async -> Result<Identity, SignInFailure> {
        await Result(of: { () async throws(SignInFailure) in
            try await client.exchange(callback, of: attempt, at: provider, before: .now + time)
        })
    }

    /// Visits the provider and exchanges the code.
    func signIn(within time: Duration = .seconds(20)) async throws -> Result<Identity, SignInFailure> {
        let (attempt, callback) = try await visit()
        return await exchange(attempt, callback, within: time)
    }
}

/// Clocks that a test turns.
final class TestClocks: Sendable {
    private let turned = Mutex(Duration.zero)

    func turn(by time: Duration) { turned.withLock { $0 += time } }

    var clock: TimeSource {
        TimeSource(
            milliseconds: { Int(Timestamp.now().milliseconds) },
            uptime: { self.turned.withLock { $0 } })
    }
}

extension Result where Failure == SignInFailure {
    init(of call: () async throws(SignInFailure) -> Success) async {
        do throws(SignInFailure) { self = .success(try await call()) } catch { self = .failure(error) }
    }

    var failure: SignInFailure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

@Suite struct ExchangeTests {
    @Test func `a token endpoint that closes after reading gets the code once`() async throws {
        let requests = Mutex<[String]>([])
        let server = LoopbackServer { request in
            requests.withLock { $0.append(String(request.head[0].prefix { $0 != "?" })) }
            return request.head[0].hasPrefix("POST") ? .answerAndClose("") : .answer(ok())
        }
        let transport = try CurlTransport()
        let client = try SignInClient(transport: transport, threads: PublicKeyThreads())
        var provider = Provider(
            issuer: nil, clientID: "balloon", clientAuthentication: .none, scope: ["email"])
        provider.tokenURL = server.url("/token")
        provider.userinfoURL = server.url("/userinfo")
        provider.allowsLoopback = true
        let attempt = SignInAttempt(at: provider, redirectURI: ProviderUnderTest.redirectURI)
        let callback = try SignInCallback("code=c&state=\(attempt.state)".utf8)
        // A request that leaves an open connection behind, which the exchange would reuse.
        _ = try await transport.send(TransportRequest(url: server.url("/keys"), allowsPlainHTTP: true))
        let result = await Result(of: { () async throws(SignInFailure) in
            try await client.exchange(callback, of: attempt, at: provider, before: .now + .seconds(20))
        })
        guard case .failure(.unreachable(.token, .interrupted)) = result else {
            Issue.record("not interrupted: \(result)")
            return
        }
        #expect(requests.withLock { $0 } == ["GET /keys HTTP/1.1", "POST /token HTTP/1.1"])
    }

    @Test(arguments: [SignatureAlgorithm.rs256, .es256])
    func `a code becomes an identity with the claims of the provider`(
        _ algorithm: SignatureAlgorithm
    ) async throws {
        let test = try await ProviderUnderTest(signing: algorithm)
        let identity = try await test.signIn().get()
        #expect(identity.issuer == test.fake.issuer)
        #expect(identity.subject == "user-alice")
        #expect(
            String(decoding: identity.claims, as: UTF8.self)
                == #"{"name":"alice","email":"alice@example.com","acr":"urn:example:silver"}"#)
        #expect(identity.tokens == nil)
        await test.fake.stop()
    }

    @Test func `each way to prove the client is accepted`() async throws {
        let secret = try Secret(Array(ProviderUnderTest.secret.utf8))
        let key = try SigningKey(for: .es256)
        let ways: [(String, ClientAuthentication)] = [
            ("balloon", .post(secret)), ("balloon", .basic(secret)), ("public", .none),
            ("balloon", .privateKeyJWT(key, keyID: "own")),
        ]
        var test = try await ProviderUnderTest()
        test.fake.register(key.publicKey, of: "balloon")
        for (clientID, authentication) in ways {
            test.provider.clientID = clientID
            test.provider.clientAuthentication = authentication
            #expect(try await test.signIn().get().subject == "user-alice", "\(clientID)")
        }
        test.provider.clientAuthentication = .post(try Secret([1]))
        #expect(try await test.signIn().failure == .providerError(.token, .invalidClient))
        await test.fake.stop()
    }

    @Test func `without openid userinfo gives the identity, by the configured claim`() async throws {
        var test = try await ProviderUnderTest(scope: ["email"])
        test.provider.subjectClaim = "email"
        test.provider.returnsTokens = true
        let identity = try await test.signIn().get()
        #expect(identity.subject == "alice@example.com")
        #expect(identity.tokens?.idToken == nil)
        #expect(identity.tokens?.accessToken != nil)
        test.provider.subjectClaim = "absent"
        #expect(try await test.signIn().failure == .answerRefused(.userinfo, .missing(.subject)))
        await test.fake.stop()
    }

    @Test func `a code works once, with its own verifier and address`() async throws {
        let test = try await ProviderUnderTest()
        let (attempt, callback) = try await test.visit()
        #expect(try await test.exchange(attempt, callback).get().subject == "user-alice")
        #expect(await test.exchange(attempt, callback).failure == .grantRefused(usesPKCE: true))
        let (other, otherCallback) = try await test.visit()
        let foreign = SignInAttempt(
            state: other.state, verifier: attempt.verifier, nonce: other.nonce,
            redirectURI: other.redirectURI, scope: other.scope)
        let failure = try #require(await test.exchange(foreign, otherCallback).failure)
        #expect(failure.code == 502)
        #expect(failure.suspectedSwitch == .pkce)
        #expect(failure.reason.contains("authentication.pkce"))
        await test.fake.stop()
    }

    @Test(arguments: [
        (ProviderFault.html(.token), SignInFailure.answerRefused(.token, .notJSON), 502),
        (.large(.token, bytes: 2 << 20), .answerRefused(.token, .tooLarge), 502),
        (.redirects(.token), .answerRefused(.token, .redirect), 502),
        (.truncates(.token), .answerRefused(.token, .notJSON), 502),
        (.omitsIDToken, .answerRefused(.token, .missing(.idToken)), 502),
        (.fails(.token, 500), .answerRefused(.token, .status(500)), 502),
        (.refusesGrant, .grantRefused(usesPKCE: true), 502),
        (.fails(.keys, 404), .answerRefused(.keys, .status(404)), 502),
        (.html(.keys), .answerRefused(.keys, .notJSON), 502),
        (.html(.discovery), .answerRefused(.discovery, .notJSON), 502),
        (.wrongDiscovery, .answerRefused(.discovery, .issuerDiffers), 502),
        (.fails(.userinfo, 401), .answerRefused(.userinfo, .status(401)), 502),
        (.signsUserinfo, .answerRefused(.userinfo, .signed), 502),
        (.otherPerson, .subjectDiffers(.userinfo), 401),
        (.denies, .denied, 403),
        (.wrongIssuer, .callbackIssuer(isMissing: false), 400),
        (.omitsIssuer, .callbackIssuer(isMissing: true), 400),
        (.idToken(.algorithmNone), .idTokenRefused(.algorithm), 401),
        (.idToken(.hs256), .idTokenRefused(.algorithm), 401),
        (.idToken(.wrongIssuer), .idTokenRefused(.issuer), 401),
        (.idToken(.wrongAudience), .idTokenRefused(.audience), 401),
        (.idToken(.wrongNonce), .idTokenRefused(.nonceDiffers), 401),
        (.idToken(.missingNonce), .idTokenRefused(.nonceMissing), 401),
        (.idToken(.expired), .idTokenRefused(.expired), 401),
        (.idToken(.unknownKey), .idTokenRefused(.unknownKey), 401),
        (.idToken(.critical), .idTokenRefused(.criticalExtension), 401),
        (.idToken(.smallKey), .idTokenRefused(.keyRefused), 401),
        (.idToken(.repeatedMember), .idTokenRefused(.repeatedMember), 401),
        (.idToken(.wrongSignature), .idTokenRefused(.signature), 401),
        (.idToken(.encrypted), .idTokenRefused(.encrypted), 502),
    ])
    func `each fault of a provider ends in its failure and code`(
        fault: ProviderFault, failure: SignInFailure, code: Int
    ) async throws {
        let test = try await ProviderUnderTest()
        test.fake.misbehave(fault)
        let result = try await test.signIn()
        #expect(result.failure == failure)
        #expect(result.failure?.code == code)
        let isEarly =
            failure.code == 400 || failure.code == 403 || fault == .html(.discovery)
            || fault == .wrongDiscovery
        #expect(test.fake.requestCount(.token) == (isEarly ? 0 : 1))
        await test.fake.stop()
    }

    @Test func `an absent nonce names the setting of authentication`() {
        let failure = SignInFailure.idTokenRefused(.nonceMissing)
        #expect(failure.suspectedSwitch == .nonce)
        #expect(failure.reason.contains("authentication.nonce"))
    }

    @Test func `a callback's iss is checked before its state is consumed`() async throws {
        let test = try await ProviderUnderTest()
        for fault in [ProviderFault.wrongIssuer, .omitsIssuer] {
            test.fake.misbehave(fault)
            let (attempt, callback) = try await test.visit()
            await #expect(throws: SignInFailure.callbackIssuer(isMissing: fault == .omitsIssuer)) {
                try await test.client.checkIssuer(
                    of: callback, for: attempt, at: test.provider, before: .now + .seconds(20))
            }
            test.fake.behave()
        }
        let (attempt, callback) = try await test.visit()
        try await test.client.checkIssuer(
            of: callback, for: attempt, at: test.provider, before: .now + .seconds(20))
        #expect(test.fake.requestCount(.token) == 0)
        await test.fake.stop()
    }

    @Test(arguments: [
        (nil, false), (false, false), (true, true),
    ])
    func `with configured addresses a callback needs iss when authorizationResponseIss says so`(
        setting: Bool?, isRequired: Bool
    ) async throws {
        var test = try await ProviderUnderTest()
        let issuer = test.fake.issuer ?? ""
        test.provider.tokenURL = issuer + "/token"
        test.provider.jwksURL = issuer + "/jwks"
        test.provider.userinfoURL = issuer + "/userinfo"
        test.provider.namesIssuerInCallbacks = setting
        let check = try await test.client.check(test.provider)
        #expect(check.ignoresAnnouncedIssuer == !isRequired)
        test.fake.misbehave(.omitsIssuer)
        let (attempt, callback) = try await test.visit()
        var failure: SignInFailure?
        do throws(SignInFailure) {
            try await test.client.checkIssuer(
                of: callback, for: attempt, at: test.provider, before: .now + .seconds(20))
        } catch { failure = error }
        #expect(failure == (isRequired ? .callbackIssuer(isMissing: true) : nil))
        #expect(await test.exchange(attempt, callback).failure == failure)
        await test.fake.stop()
    }

    @Test func `the check of a provider with configured addresses compares its issuer`() async throws {
        var test = try await ProviderUnderTest()
        let issuer = test.fake.issuer ?? ""
        test.provider.tokenURL = issuer + "/token"
        test.provider.jwksURL = issuer + "/jwks"
        test.fake.misbehave(.wrongDiscovery)
        await #expect(throws: SignInFailure.answerRefused(.discovery, .issuerDiffers)) {
            try await test.client.check(test.provider)
        }
        test.fake.misbehave(.fails(.discovery, 404))
        let other = try SignInClient(transport: test.transport, threads: PublicKeyThreads())
        #expect(try await !other.check(test.provider).ignoresAnnouncedIssuer)
        await test.fake.stop()
    }

    @Test(arguments: [ProviderEndpoint.discovery, .token, .keys, .userinfo])
    func `a provider that answers too late ends in 504 before the deadline`(
        _ endpoint: ProviderEndpoint
    ) async throws {
        let test = try await ProviderUnderTest()
        let (attempt, callback) = try await test.visit()
        test.fake.misbehave(.slow(endpoint, .seconds(30)))
        let start = ContinuousClock.now
        let failure = await test.exchange(attempt, callback, within: .milliseconds(1400)).failure
        #expect(failure?.code == 504)
        // The deadline leaves a second, so the exchange ends after 0.4 s; a busy machine may need longer.
        #expect(ContinuousClock.now - start < .seconds(15))
        await test.fake.stop(within: .zero)
    }

    @Test func `without time left no call is made`() async throws {
        let test = try await ProviderUnderTest()
        let (attempt, callback) = try await test.visit()
        #expect(await test.exchange(attempt, callback, within: .seconds(1)).failure?.code == 504)
        #expect(test.fake.requestCount(.token) == 0)
        await test.fake.stop()
    }

    @Test func `a provider that is down ends in 502`() async throws {
        let test = try await ProviderUnderTest()
        let (attempt, callback) = try await test.visit()
        await test.fake.stop(within: .zero)
        let failure = await test.exchange(attempt, callback).failure
        #expect(failure?.code == 502)
    }

    @Test func `a cancelled exchange ends in 503`() async throws {
        let test = try await ProviderUnderTest()
        let (attempt, callback) = try await test.visit()
        _ = try await test.signIn()
        test.fake.misbehave(.slow(.token, .seconds(30)))
        let exchange = Task { await test.exchange(attempt, callback) }
        exchange.cancel()
        #expect(await exchange.value.failure == .stopping)
        await test.fake.stop(within: .zero)
    }
}

@Suite struct ProviderDocumentsTests {
    @Test func `discovery and keys are fetched once a day`() async throws {
        let test = try await ProviderUnderTest()
        for _ in 0..<3 { _ = try await test.signIn().get() }
        #expect(test.fake.requestCount(.discovery) == 1)
        #expect(test.fake.requestCount(.keys) == 1)
        test.clocks.turn(by: .seconds(86_399))
        _ = try await test.signIn().get()
        #expect(test.fake.requestCount(.discovery) == 1)
        test.clocks.turn(by: .seconds(1))
        _ = try await test.signIn().get()
        #expect(test.fake.requestCount(.discovery) == 2)
        #expect(test.fake.requestCount(.keys) == 2)
        await test.fake.stop()
    }

    @Test func `keys are fetched again after their max-age, at most once a minute, and discovery is not`()
        async throws
    {
        for (rule, seconds) in [("max-age=3600", 3600), ("no-store", 60)] {
            let test = try await ProviderUnderTest()
            test.fake.misbehave(.cachesKeys(rule))
            _ = try await test.signIn().get()
            test.clocks.turn(by: .seconds(seconds - 1))
            _ = try await test.signIn().get()
            #expect(test.fake.requestCount(.keys) == 1, "\(rule)")
            test.clocks.turn(by: .seconds(1))
            _ = try await test.signIn().get()
            #expect(test.fake.requestCount(.keys) == 2, "\(rule)")
            #expect(test.fake.requestCount(.discovery) == 1)
            await test.fake.stop()
        }
    }

    @Test func `sign-ins at the same time share one fetch`() async throws {
        let test = try await ProviderUnderTest()
        let visits = try await (0..<8).asyncMap { _ in try await test.visit() }
        await withTaskGroup(of: Bool.self) { group in
            for (attempt, callback) in visits {
                group.addTask { await test.exchange(attempt, callback).failure == nil }
            }
            for await succeeded in group { #expect(succeeded) }
        }
        #expect(test.fake.requestCount(.discovery) == 1)
        #expect(test.fake.requestCount(.keys) == 1)
        await test.fake.stop()
    }

    @Test func `new keys are fetched when a token names one, at most once a minute`() async throws {
        let test = try await ProviderUnderTest()
        _ = try await test.signIn().get()
        try test.fake.rotateKeys()
        _ = try await test.signIn().get()
        #expect(test.fake.requestCount(.keys) == 2)
        try test.fake.rotateKeys()
        #expect(try await test.signIn().failure == .idTokenRefused(.unknownKey))
        #expect(test.fake.requestCount(.keys) == 2)
        test.clocks.turn(by: .seconds(60))
        _ = try await test.signIn().get()
        #expect(test.fake.requestCount(.keys) == 3)
        await test.fake.stop()
    }

    @Test func `an old discovery document stays in use while its refresh fails, and old keys do not`()
        async throws
    {
        let test = try await ProviderUnderTest()
        _ = try await test.signIn().get()
        test.clocks.turn(by: .seconds(86_400))
        test.fake.misbehave(.fails(.discovery, 500))
        _ = try await test.signIn().get()
        _ = try await test.signIn().get()
        #expect(test.fake.requestCount(.discovery) == 2)
        test.clocks.turn(by: .seconds(60))
        _ = try await test.signIn().get()
        #expect(test.fake.requestCount(.discovery) == 3)
        test.clocks.turn(by: .seconds(86_400))
        test.fake.misbehave(.fails(.keys, 500))
        #expect(try await test.signIn().failure == .answerRefused(.keys, .status(500)))
        await test.fake.stop()
    }

    @Test func `configured addresses replace discovery`() async throws {
        var test = try await ProviderUnderTest()
        let issuer = try #require(test.fake.issuer)
        test.provider.tokenURL = issuer + "/token"
        test.provider.jwksURL = issuer + "/jwks"
        let identity = try await test.signIn().get()
        #expect(String(decoding: identity.claims, as: UTF8.self) == #"{"acr":"urn:example:silver"}"#)
        #expect(test.fake.requestCount(.discovery) == 0)
        #expect(test.fake.requestCount(.userinfo) == 0)
        test.provider.allowsLoopback = false
        #expect(try await test.signIn().failure == .addressMissing(.token))
        await test.fake.stop()
    }
}

extension Sequence {
    fileprivate func asyncMap<Result>(_ transform: (Element) async throws -> Result) async rethrows
        -> [Result]
    {
        var results: [Result] = []
        for element in self { results.append(try await transform(element)) }
        return results
    }
}
