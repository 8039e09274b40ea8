import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import MessageServer
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// The issuer and the session of a user at Debian's `glewlwyd`, which requires S256; `scripts/test.d/provider` starts it.
private let strictIssuer = ProcessEnvironment.variables()["STRICT_PROVIDER"]
private let strictCookie = ProcessEnvironment.variables()["STRICT_PROVIDER_COOKIE"] ?? ""

/// Signs in at a provider that Balloon's authors did not write and that enforces what the server sends.
@Suite(.enabled(if: strictIssuer != nil)) struct StrictProviderTests {
    private let redirectURI = "http://127.0.0.1:9/auth/one/callback"
    private let transport: CurlTransport
    private let client: SignInClient
    private let provider: Provider

    init() throws {
        transport = try CurlTransport()
        client = try SignInClient(transport: transport)
        var provider = Provider(
            issuer: strictIssuer, clientID: "balloon",
            clientAuthentication: .post(try Secret(Array("secret".utf8))), scope: ["openid"])
        provider.allowsLoopback = true
        self.provider = provider
    }

    /// Opens the authorization address with the user's session, and returns the query of the callback.
    private func authorize(_ state: String, scope: [String], parameters: String) async throws -> String {
        let query =
            "response_type=code&client_id=balloon&redirect_uri="
            + redirectURI.replacing(":", with: "%3A").replacing("/", with: "%2F")
            + "&scope=\(scope.joined(separator: "%20"))&state=\(state)&\(parameters)&g_continue"
        var request = TransportRequest(
            url: (strictIssuer ?? "") + "/auth?" + query, allowsPlainHTTP: true)
        request.headers = [("cookie", strictCookie)]
        let answer = try await transport.send(request)
        let location = try #require(answer.header("location"), "status \(answer.status)")
        try #require(location.hasPrefix(redirectURI + "?"), "the provider leads elsewhere")
        return String(location.dropFirst(redirectURI.count + 1))
    }

    private func callback(
        _ attempt: SignInAttempt, parameters: String? = nil
    ) async throws -> SignInCallback {
        let own = try attempt.additionalParameters() ?? ""
        return try SignInCallback(
            try await authorize(attempt.state, scope: attempt.scope, parameters: parameters ?? own).utf8)
    }

    private func exchange(
        _ callback: SignInCallback, _ attempt: SignInAttempt, _ provider: Provider
    ) async -> Result<Identity, SignInFailure> {
        do throws(SignInFailure) {
            return .success(
                try await client.exchange(callback, of: attempt, at: provider, before: .now + .seconds(20)))
        } catch {
            return .failure(error)
        }
    }

    private func failure(
        _ callback: SignInCallback, _ attempt: SignInAttempt, _ provider: Provider
    ) async -> SignInFailure? {
        guard case .failure(let failure) = await exchange(callback, attempt, provider) else { return nil }
        return failure
    }

    @Test func `a customer signs in through the whole server, with S256, nonce, iss and ES256`() async throws
    {
        let provider = provider
        let server = try await ServerUnderTest(WelcomingHandler()) { configuration in
            configuration.publicURL = "http://127.0.0.1:9"
            configuration.businesses[0].authentication = AuthenticationConfiguration(provider: provider)
            configuration.businesses[0].authentication?.asksToConfirm = false
        }
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text, text: "Hello")).status == 200)
        let message = try #require(
            await server.gateway.waitForMessages(customer: customer.id).first?.message)
        let oauth2 = try #require(message.oauth2)
        #expect(oauth2["redirectURI"]?.string == redirectURI)
        let query = try await authorize(
            oauth2["state"]?.string ?? "", scope: ["openid"],
            parameters: oauth2["additionalParameters"]?.string ?? "")
        #expect(query.contains("iss="))
        let answer = try await transport.send(
            TransportRequest(url: server.url + "/auth/one/callback?" + query, allowsPlainHTTP: true))
        #expect(answer.header("location") == "messages-auth://?status=success")
        let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: success)
        #expect(try await customer.post(customer.message(completing: event.json)).status == 200)
        let replies = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        let welcome = try #require(replies.last?.message.root["body"]?.string)
        #expect(welcome.hasPrefix("welcome "), "\(welcome)")
        await server.stop(secrets: ["secret"])
    }

    @Test func `the provider refuses a request without a code challenge`() async throws {
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await callback(attempt, parameters: "nonce=n")
        guard case .error = callback.outcome else {
            Issue.record("the provider does not require S256")
            return
        }
        #expect(await failure(callback, attempt, provider)?.code == 502)
    }

    @Test func `the provider refuses another verifier than that of the challenge`() async throws {
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await callback(attempt)
        let other = SignInAttempt(
            state: attempt.state, verifier: String(repeating: "v", count: 43), nonce: attempt.nonce,
            redirectURI: redirectURI, scope: attempt.scope)
        // It says `invalid_code`, where RFC 6749 §5.2 has `invalid_grant`.
        #expect(await failure(callback, other, provider)?.code == 502)
    }

    @Test func `the provider's code works once`() async throws {
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await callback(attempt)
        #expect(await failure(callback, attempt, provider) == nil)
        #expect(await failure(callback, attempt, provider)?.code == 502)
    }

    @Test func `the provider repeats the nonce, and another one is refused with 401`() async throws {
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await callback(attempt)
        let other = SignInAttempt(
            state: attempt.state, verifier: attempt.verifier, nonce: "another", redirectURI: redirectURI,
            scope: attempt.scope)
        #expect(await failure(callback, other, provider) == .idTokenRefused(.nonceDiffers))
    }

    @Test func `a token of version 1 is introspected, and becomes an identity`() async throws {
        var provider = provider
        provider.clientAuthentication = .basic(try Secret(Array("secret".utf8)))
        provider.returnsTokens = true
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await callback(attempt)
        let identity = try await exchange(callback, attempt, provider).get()
        let token = try #require(identity.tokens).accessToken
        provider.classic = ClassicClient(
            clientID: "balloon", clientSecret: try Secret(Array("secret".utf8)),
            introspectionURL: (strictIssuer ?? "") + "/introspect")
        let pair = try P384KeyPair()
        let sealed = Base64.encode(try ECIES.seal(token.bytes, to: pair.point))
        let result = try await client.exchange(
            classicToken: sealed, scalar: pair.scalar, at: provider, before: .now + .seconds(20))
        guard case .signedIn(let classic) = result else {
            Issue.record("the token is unverified")
            return
        }
        #expect(classic.subject == identity.subject)
    }
}
