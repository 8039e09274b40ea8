import BalloonPOSIX
import BalloonTransport
import BalloonWire
import SignIn
import Testing

/// The address of a provider that Balloon's authors did not write; `scripts/test.d/provider` starts one and sets it.
private let foreignIssuer = ProcessEnvironment.variables()["FOREIGN_PROVIDER"]

/// Runs the exchange against PyPI's `oidc-provider-mock`, which signs in every `sub` that its form gets.
@Suite(.enabled(if: foreignIssuer != nil)) struct ForeignProviderTests {
    private let transport: CurlTransport
    private let client: SignInClient
    private let secret: Secret
    private let redirectURI = "http://127.0.0.1:9/callback"

    init() throws {
        transport = try CurlTransport()
        client = try SignInClient(transport: transport)
        secret = try Secret(Array("secret".utf8))
    }

    private func provider(_ authentication: ClientAuthentication, scope: [String]) -> Provider {
        var provider = Provider(
            issuer: foreignIssuer, clientID: "balloon", clientAuthentication: authentication, scope: scope)
        provider.allowsLoopback = true
        return provider
    }

    /// Sends the provider's form and returns the callback.
    private func visit(_ attempt: SignInAttempt) async throws -> SignInCallback {
        let query = [
            "response_type=code", "client_id=balloon", "redirect_uri=http%3A%2F%2F127.0.0.1%3A9%2Fcallback",
            "scope=" + attempt.scope.joined(separator: "%20"), "state=" + attempt.state,
            try attempt.additionalParameters() ?? "",
        ].joined(separator: "&")
        let answer = try await transport.send(
            TransportRequest(
                method: "POST", url: (foreignIssuer ?? "") + "/oauth2/authorize?" + query,
                headers: [("content-type", "application/x-www-form-urlencoded")],
                body: Array("sub=alice".utf8),
                allowsPlainHTTP: true))
        let location = try #require(answer.header("location"), "status \(answer.status)")
        return try SignInCallback(location.dropFirst(redirectURI.count + 1).utf8)
    }

    private func exchange(
        _ callback: SignInCallback, _ attempt: SignInAttempt, _ provider: Provider
    ) async -> Result<Identity, SignInFailure> {
        await Result(of: { () async throws(SignInFailure) in
            try await client.exchange(callback, of: attempt, at: provider, before: .now + .seconds(20))
        })
    }

    private func exchange(
        _ provider: Provider
    ) async throws -> Result<Identity, SignInFailure> {
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await visit(attempt)
        try await client.checkIssuer(
            of: callback, for: attempt, at: provider, before: .now + .seconds(20))
        return await exchange(callback, attempt, provider)
    }

    @Test func `discovery, RS256, nonce and userinfo of a foreign provider give an identity`() async throws {
        for authentication in [ClientAuthentication.post(secret), .basic(secret)] {
            let identity = try await exchange(
                provider(authentication, scope: ["openid", "email"])
            ).get()
            #expect(identity.subject == "alice")
            #expect(identity.issuer == foreignIssuer)
        }
    }

    @Test func `a foreign provider's code works once`() async throws {
        let provider = provider(.post(secret), scope: ["openid"])
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await visit(attempt)
        let first = await exchange(callback, attempt, provider)
        #expect(first.failure == nil)
        let second = await exchange(callback, attempt, provider)
        #expect(second.failure == .grantRefused(usesPKCE: true))
    }

    @Test func `a foreign provider's token with another nonce is refused with 401`() async throws {
        let provider = provider(.post(secret), scope: ["openid"])
        let attempt = SignInAttempt(at: provider, redirectURI: redirectURI)
        let callback = try await visit(attempt)
        let other = SignInAttempt(
            state: attempt.state, verifier: attempt.verifier, nonce: "another", redirectURI: redirectURI,
            scope: attempt.scope)
        let result = await exchange(callback, other, provider)
        #expect(result.failure == .idTokenRefused(.nonceDiffers))
    }
}
