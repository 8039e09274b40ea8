import BalloonJSON
import BalloonTransport
import BalloonWire
import SignIn
import Simulator
import Testing

@Suite struct ClassicTests {
    private let pair: P384KeyPair

    init() throws { pair = try P384KeyPair() }

    /// A provider with a classic client, and an access token of that client as its device gets it.
    private func started() async throws -> (test: ProviderUnderTest, token: String) {
        var test = try await ProviderUnderTest(scope: ["email"])
        let issuer = try #require(test.fake.issuer)
        let secret = try Secret(Array(ProviderUnderTest.secret.utf8))
        test.provider.classic = ClassicClient(
            clientID: "classic", clientSecret: secret, introspectionURL: issuer + "/introspect")
        var device = test
        device.provider.clientID = "classic"
        device.provider.returnsTokens = true
        let token = try #require(try await device.signIn().get().tokens).accessToken
        return (test, String(decoding: token.bytes, as: UTF8.self))
    }

    private func sealed(_ token: String, to point: [UInt8]? = nil) throws -> String {
        Base64.encode(try ECIES.seal(Array(token.utf8), to: point ?? pair.point))
    }

    private func exchange(_ test: ProviderUnderTest, _ token: String) async -> Result<
        ClassicResult, SignInFailure
    > {
        await Result(of: { () async throws(SignInFailure) in
            try await test.client.exchange(
                classicToken: token, scalar: pair.scalar, at: test.provider, before: .now + .seconds(20))
        })
    }

    @Test func `a token of our client becomes an identity`() async throws {
        let (test, token) = try await started()
        let result = try await exchange(test, sealed(token)).get()
        guard case .signedIn(let identity) = result else {
            Issue.record("the token is unverified")
            return
        }
        #expect(identity.subject == "user-alice")
        #expect(identity.issuer == test.fake.issuer)
        #expect(identity.tokens == nil)
        await test.fake.stop()
    }

    @Test func `without introspection the claims are unverified`() async throws {
        let (started, token) = try await started()
        var test = started
        test.provider.classic?.introspectionURL = nil
        let result = try await exchange(test, sealed(token)).get()
        let claims = Array(#"{"name":"alice","email":"alice@example.com"}"#.utf8)
        #expect(result == .unverified(claims: claims))
        await test.fake.stop()
    }

    @Test(arguments: [ProviderFault.otherClient, .inactive])
    func `a token of another client, or an expired one, is refused before userinfo`(
        _ fault: ProviderFault
    ) async throws {
        let (test, token) = try await started()
        let before = test.fake.requestCount(.userinfo)
        test.fake.misbehave(fault)
        #expect(try await exchange(test, sealed(token)).failure == .classicTokenRefused)
        #expect(test.fake.requestCount(.userinfo) == before)
        await test.fake.stop()
    }

    @Test func `a token that does not open is refused without a call`() async throws {
        let (test, token) = try await started()
        let text = try sealed(token)
        let bytes = try #require(Base64.decode(text))
        var flipped = bytes
        flipped[120] ^= 1
        var offCurve = bytes
        offCurve[96] ^= 1
        let other = try sealed(token, to: P384KeyPair().point)
        let refused = [
            Base64.encode(flipped), Base64.encode(offCurve), Base64.encode(bytes.prefix(96)), other, "", "?",
            String(repeating: "A", count: 200_000), try sealed("two words"), try sealed("line\nbreak"),
        ]
        let before = test.fake.requestCount(.introspection)
        for text in refused {
            #expect(await exchange(test, text).failure == .classicTokenRefused, "\(text.prefix(20))")
        }
        #expect(test.fake.requestCount(.introspection) == before)
        await test.fake.stop()
    }

    @Test func `userinfo about another person than introspection is refused`() async throws {
        let (test, token) = try await started()
        test.fake.misbehave(.otherPerson)
        #expect(try await exchange(test, sealed(token)).failure == .subjectDiffers(.introspection))
        await test.fake.stop()
    }
}
