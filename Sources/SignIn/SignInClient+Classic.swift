import BalloonJSON
import BalloonPOSIX
package import BalloonWire

extension SignInClient {
    /// Decrypts the token of an authentication of version 1 and returns the customer's identity.
    ///
    /// `token` is the Base64 text of the event, and `scalar` the private key of the request's key pair. Any
    /// device can encrypt a token to the public key. The token is therefore introspected first: it must be
    /// active and issued to the classic client. Without an introspection address the result is
    /// ``ClassicResult/unverified(claims:)``. Ends one second before `deadline`.
    package func exchange(
        classicToken token: String, scalar: Secret, at provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> ClassicResult {
        let deadline = deadline - Self.reservedTime
        guard let client = provider.classic else { throw .classicTokenRefused }
        let token = try await opened(token, scalar)
        let provider = try await completed(provider, isOpenID: false, before: deadline)
        let introspected = try await introspection(of: token, client, provider, before: deadline)
        guard
            let userinfo = try await userinfo(token, isRequired: true, provider, before: deadline)?.root
        else { throw .addressMissing(.userinfo) }
        let claims = mergedClaims(userinfo: userinfo, idToken: nil)
        guard let introspected else { return .unverified(claims: claims) }
        guard let subject = subject(userinfo[provider.subjectClaim]) else {
            throw .answerRefused(.userinfo, .missing(.subject))
        }
        if let other = introspected.root["sub"], let own = userinfo["sub"]?.string, !other.equals(own) {
            throw .subjectDiffers(.introspection)
        }
        return .signedIn(
            Identity(
                issuer: provider.issuer ?? provider.userinfoURL ?? "", subject: subject, claims: claims,
                tokens: provider.returnsTokens ? Self.tokens(token) : nil))
    }

    private func opened(_ token: String, _ scalar: Secret) async throws(SignInFailure) -> String {
        guard token.utf8.count <= 2 * ECIES.maximumBytes, let sealed = Base64.decode(token) else {
            throw .classicTokenRefused
        }
        // Drop the reason why the decryption failed: the token is refused in any case.
        guard let plain = await threads.run({ Result { try ECIES.open(sealed, scalar: scalar) } }) else {
            throw .overloaded
        }
        guard let bytes = try? plain.get(), let text = String(validating: bytes, as: UTF8.self),
            TokenAnswer.isToken(text)
        else { throw .classicTokenRefused }
        return text
    }

    /// Asks the provider about a token (RFC 7662 §2); returns nil when no introspection address is
    /// configured.
    private func introspection(
        of token: String, _ client: ClassicClient, _ provider: Provider,
        before deadline: ContinuousClock.Instant
    ) async throws(SignInFailure) -> JSONDocument? {
        guard let url = client.introspectionURL else { return nil }
        guard isProviderAddress(url, allowsLoopback: provider.allowsLoopback) else {
            throw .addressMissing(.introspection)
        }
        var form = FormFields()
        form.add("token", token)
        form.add("token_type_hint", "access_token")
        var authentication = ClientAuthentication.post(client.clientSecret)
        if case .basic = provider.clientAuthentication { authentication = .basic(client.clientSecret) }
        let request = authenticated(
            form, to: url, clientID: client.clientID, authentication, allowsLoopback: provider.allowsLoopback)
        let document = try await calls.object(.introspection, request, before: deadline)
        guard document.root["active"]?.bool == true, isFor(client.clientID, document.root) else {
            throw .classicTokenRefused
        }
        return document
    }

    /// Whether a token was issued to our client: `client_id` says so, or `aud` when `client_id` is absent.
    private func isFor(_ clientID: String, _ description: JSONValue) -> Bool {
        if let client = description["client_id"] { return client.equals(clientID) }
        guard let audience = description["aud"] else { return false }
        return audience.equals(clientID) || audience.elements.contains { $0.equals(clientID) }
    }

    private static func tokens(_ token: String) -> ProviderTokens? {
        // This does not fail: `Secret` refuses only an empty text, and the token is not empty.
        (try? Secret(Array(token.utf8))).map {
            ProviderTokens(accessToken: $0, refreshToken: nil, idToken: nil, expiresInSeconds: nil)
        }
    }
}
