import BalloonJSON
import BalloonWire
import BusinessMessages
import MessageServer
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// Every byte under the data directory after all sign-ins ended, and every line of the log.
struct SignInSecretsTests {
    /// The secrets in the files of open requests.
    private func drawn(_ test: SignInUnderTest) throws -> [String] {
        try test.requests().flatMap { request in
            let payload = request.root["payload"]
            return ["state", "verifier", "nonce", "scalar"].compactMap { payload?[$0]?.string }
        }
    }

    @Test(arguments: [false, true])
    func `after sign-ins of every end no secret is on disk, and none is ever in the log`(
        returnsTokens: Bool
    ) async throws {
        let test = try await SignInUnderTest {
            $0.provider.returnsTokens = returnsTokens
        }
        var secrets: [String] = []
        func begin(_ device: Capabilities?) async throws -> (SimulatedCustomer, JSONDocument) {
            let customer = test.customer(device)
            let message = try await test.ask(customer)
            secrets += try drawn(test)
            return (customer, message)
        }
        for device in [nil, SignInUnderTest.classic] {
            let (customer, message) = try await begin(device)
            let outcome = try await test.signIn(customer, message)
            #expect(try await test.report(outcome, customer, message) == "welcome user-alice")
            let (declining, second) = try await begin(device)
            let declined = try await test.signIn(declining, second, declines: true)
            let text = try await test.report(declined, declining, second)
            #expect(text == (device == nil ? "declined" : "failed 1"))
            let (unlucky, third) = try await begin(device)
            test.provider.misbehave(.html(.userinfo))
            let failed = try await test.signIn(unlucky, third)
            #expect(try await test.report(failed, unlucky, third) == "failed 502")
            test.provider.behave()
        }
        // A success without a callback, and the callback that follows.
        let (hasty, message) = try await begin(nil)
        let query = try await test.query(for: message)
        let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
        #expect(try await test.report(success, hasty, message) == "unproven")
        _ = try await test.browse("/auth/one/callback?" + query)
        #expect(try await eventually { try test.areForgotten() })
        secrets += test.provider.secrets
        #expect(secrets.count >= 20)
        let everything = try test.everything()
        for secret in secrets + SignInUnderTest.secrets + ["alice@example.com"] {
            #expect(!everything.contains(secret), "\(secret)")
        }
        await test.stop(secrets: secrets + ["user-alice", "alice@example.com"])
    }

    @Test(arguments: [nil, SignInUnderTest.classic], [false, true])
    func `a device whose state comes back with one bit changed signs nobody in`(
        device: Capabilities?, isChanged: Bool
    ) async throws {
        let test = try await SignInUnderTest()
        let customer = test.customer(device)
        let message = try await test.ask(customer)
        if isChanged { test.provider.misbehave(.changesState) }
        let outcome = try await test.signIn(customer, message)
        let text = try await test.report(outcome, customer, message)
        // In version 1 the device compares the state, and in version 2 the server knows no such request.
        let failure = device == nil ? "failed 400" : "failed 1"
        #expect(text == (isChanged ? failure : "welcome user-alice"))
        #expect(test.provider.requestCount(.token) == (isChanged ? 0 : 1))
        await test.stop()
    }

    @Test(arguments: [false, true])
    func `a device signs in with the state of the vector, and not with one bit of it changed`(
        isChanged: Bool
    ) async throws {
        let vector = try JSONDocument(Fixture.bytes("vectors/auth_v1_nonce.json")).root
        let nonce = try #require(vector["example"]?.string)
        let test = try await SignInUnderTest()
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let state = try #require(message.oauth2?["state"]?.string)
        #expect(state.utf8.count == nonce.utf8.count)
        #expect(Base64.decode(state)?.count == Base64.decode(nonce)?.count)
        let text = String(decoding: message.bytes, as: UTF8.self).replacing(state, with: nonce)
        let known = try JSONDocument(Array(text.utf8))
        #expect(known.oauth2?["state"]?.string == nonce)
        if isChanged { test.provider.misbehave(.changesState) }
        let outcome = try await test.signIn(customer, known)
        let answer = try await test.report(outcome, customer, known)
        #expect(answer == (isChanged ? "failed 1" : "welcome user-alice"))
        await test.stop(secrets: [state])
    }

    @Test(arguments: [("encrypted_token_base64", "welcome user-1"), ("tampered_token_base64", "failed 401")])
    func `the vector of an encrypted token opens with its scalar, and with one bit changed it does not`(
        name: String, expected: String
    ) async throws {
        let vector = try JSONDocument(Fixture.bytes("vectors/auth_v1_ecies_p384.json")).root
        let token = try #require(vector[name]?.string)
        let test = try await SignInUnderTest()
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        test.provider.accept(
            accessToken: try #require(vector["token_plaintext_utf8"]?.string), ofUser: "1",
            clientID: "classic")
        // 47 and 48 bytes are both in use: Apple's sample drops leading zeros.
        try await test.replaceScalar(by: try #require(vector["private_scalar_base64_be48"]?.string))
        let text = try await test.report(.authenticated(token: token), customer, message)
        #expect(text == expected)
        await test.stop(secrets: [token])
    }
}
