import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import MessageServer
import MessageStore
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// Signing in with version 1, through the whole server.
struct ClassicSignInTests {
    /// A token as the device encrypted it; empty for another outcome.
    private func token(of outcome: DeviceSignIn.Outcome) -> String {
        guard case .authenticated(let token) = outcome else { return "" }
        return token
    }

    @Test
    func `a device with AUTH only signs in with version 1, and nothing secret stays on disk`() async throws {
        let test = try await SignInUnderTest()
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let oauth2 = try #require(message.oauth2)
        let key = try #require(oauth2["responseEncryptionKey"]?.string)
        let state = try #require(oauth2["state"]?.string)
        #expect(message.root["interactiveData"]?["data"]?["version"]?.string == "1.0")
        #expect(oauth2["clientSecret"]?.string == "classic-secret-1")
        #expect(oauth2["scope"]?.elements.map(\.string) == ["openid", "email"])
        #expect(oauth2["redirectURI"] == nil && oauth2["additionalParameters"] == nil)
        #expect(key.utf8.count == 132 && key.hasPrefix("B"))
        #expect(state.utf8.count == 32 && Base64.decode(state)?.count == 24)
        let scalar = try #require(try test.requests().first?.root["payload"]?["scalar"]?.string)
        let outcome = try await test.signIn(customer, message)
        #expect(try await test.report(outcome, customer, message) == "welcome user-alice")
        #expect(test.provider.requestCount(.introspection) == 1)
        #expect(try await eventually { try test.areForgotten() })
        let line = try #require(
            try test.server.conversation(of: customer).first { $0.direction == .outbound }?.message)
        let kept = try JSONDocument(Array(line.text)).oauth2
        for name in ["state", "responseEncryptionKey", "clientSecret"] {
            #expect(kept?[name]?.string == SignInRequest.placeholder)
        }
        let everything = try test.everything()
        for secret in [state, key, scalar] + SignInUnderTest.secrets { #expect(!everything.contains(secret)) }
        await test.stop(secrets: [state, key, scalar, "user-alice"])
    }

    @Test func `without introspection the claims are unverified`() async throws {
        let test = try await SignInUnderTest { $0.provider.classic?.introspectionURL = nil }
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let outcome = try await test.signIn(customer, message)
        #expect(try await test.report(outcome, customer, message) == "unverified alice@example.com")
        await test.stop()
    }

    @Test func `a token that does not open or belongs to another client fails, and its event is delivered`()
        async throws
    {
        let test = try await SignInUnderTest()
        let other = test.customer(SignInUnderTest.classic)
        let otherToken = token(of: try await test.signIn(other, try await test.ask(other)))
        let changes: [(String, (inout [UInt8]) -> Void)] = [
            ("a flipped bit of the text", { $0[100] ^= 1 }),
            ("a flipped bit of the tag", { $0[$0.count - 1] ^= 1 }),
            ("96 bytes", { $0 = Array($0.prefix(96)) }), ("a point off the curve", { $0[96] ^= 1 }),
            ("another request's key", { $0 = Base64.decode(otherToken) ?? [] }),
        ]
        for (name, change) in changes {
            let customer = test.customer(SignInUnderTest.classic)
            let message = try await test.ask(customer)
            var sealed = try #require(Base64.decode(token(of: try await test.signIn(customer, message))))
            change(&sealed)
            let text = try await test.report(
                .authenticated(token: Base64.encode(sealed)), customer, message)
            #expect(text == "failed 401", "\(name)")
        }
        #expect(test.provider.requestCount(.introspection) == 0)
        test.provider.misbehave(.otherClient)
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let outcome = try await test.signIn(customer, message)
        #expect(try await test.report(outcome, customer, message) == "failed 401")
        #expect(test.provider.requestCount(.userinfo) == 0)
        // The request of `other` is open.
        #expect(
            try await eventually { try test.requests().count { $0.root["payload"] != nil } == 1 })
        await test.stop()
    }

    @Test func `a declined sign-in fails with the device's code, and a provider that is down with 502`()
        async throws
    {
        let test = try await SignInUnderTest()
        let declining = test.customer(SignInUnderTest.classic)
        let first = try await test.ask(declining)
        let declined = try await test.signIn(declining, first, declines: true)
        #expect(try await test.report(declined, declining, first) == "failed 1")
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let outcome = try await test.signIn(customer, message)
        test.provider.misbehave(.html(.userinfo))
        #expect(try await test.report(outcome, customer, message) == "failed 502")
        await test.stop()
    }

    @Test func `another customer's event releases nothing, and a repeated event is not delivered`()
        async throws
    {
        let test = try await SignInUnderTest()
        let customer = test.customer(SignInUnderTest.classic)
        let message = try await test.ask(customer)
        let outcome = try await test.signIn(customer, message)
        let stranger = test.customer(SignInUnderTest.classic)
        #expect(try await test.report(outcome, stranger, message, replies: 1) == "unproven")
        #expect(try await test.report(outcome, customer, message) == "welcome user-alice")
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome)
        #expect(try await customer.post(customer.message(completing: event.json)).status == 200)
        #expect(try await customer.post(customer.message(.text, text: "Again")).status == 200)
        let replies = await test.server.gateway.waitForMessages(count: 3, customer: customer.id)
        #expect(replies.count == 3 && replies.last?.message.oauth2 != nil)
        await test.stop()
    }

    @Test func `a token for a request of version 2, and success for one of version 1, prove nothing`()
        async throws
    {
        let test = try await SignInUnderTest()
        let customer = test.customer()
        let message = try await test.ask(customer)
        let sealed = try ECIES.seal(Array("token".utf8), to: P384KeyPair().point)
        let forged = DeviceSignIn.Outcome.authenticated(token: Base64.encode(sealed))
        #expect(try await test.report(forged, customer, message) == "unproven")
        let old = test.customer(SignInUnderTest.classic)
        let classic = try await test.ask(old)
        let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
        #expect(try await test.report(success, old, classic) == "unproven")
        await test.stop()
    }

    @Test func `without a client of version 1, a device with AUTH only gets the fallback`() async throws {
        let test = try await SignInUnderTest { $0.provider.classic = nil }
        let message = try await test.ask(test.customer(SignInUnderTest.classic))
        #expect(message.root["body"]?.string == "Please call us.")
        await test.stop()
    }
}
