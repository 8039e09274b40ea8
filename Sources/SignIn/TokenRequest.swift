import BalloonJSON
import BalloonTransport
import BalloonWire

/// Creates the request that exchanges a code for tokens (RFC 6749 §4.1.3).
///
/// `assertion` is the signed token that proves our identity with `private_key_jwt`; nil for the other methods.
func exchangeRequest(
    _ code: String, _ attempt: SignInAttempt, _ provider: Provider, to url: String, assertion: String?
) -> TransportRequest {
    var form = FormFields()
    form.add("grant_type", "authorization_code")
    form.add("code", code)
    form.add("redirect_uri", attempt.redirectURI)
    form.add("code_verifier", attempt.verifier)
    return authenticated(
        form, to: url, clientID: provider.clientID, provider.clientAuthentication, assertion: assertion,
        allowsLoopback: provider.allowsLoopback)
}

/// Creates a `POST` of a form that proves that it comes from our client (OpenID Connect Core §9, RFC 7523
/// §2.2).
func authenticated(
    _ form: FormFields, to url: String, clientID: String, _ authentication: ClientAuthentication,
    assertion: String? = nil, allowsLoopback: Bool
) -> TransportRequest {
    var form = form
    var headers = [(name: "content-type", value: "application/x-www-form-urlencoded")]
    switch authentication {
    case .post(let secret):
        form.add("client_id", clientID)
        form.add("client_secret", String(decoding: secret.bytes, as: UTF8.self))
    case .basic(let secret):
        // RFC 6749 §2.3.1: identifier and secret are each form-encoded before they are joined.
        let text = String(decoding: secret.bytes, as: UTF8.self)
        let pair = clientID.percentEncoded + ":" + text.percentEncoded
        headers.append((name: "authorization", value: "Basic " + Base64.encode(pair.utf8)))
    case .privateKeyJWT:
        form.add("client_id", clientID)
        form.add("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
        form.add("client_assertion", assertion)
    case .none: form.add("client_id", clientID)
    }
    return TransportRequest(
        method: "POST", url: url, headers: headers, body: Array(form.encoded.utf8),
        allowsPlainHTTP: allowsLoopback)
}

/// The claims of a token for `private_key_jwt`, which is valid for 60 seconds, for the audience alone, and
/// only once.
func assertionClaims(clientID: String, audience: String, now: Int) -> [UInt8] {
    JSONWriter.object([
        "iss": clientID, "sub": clientID, "aud": audience,
        "jti": Base64.encode(randomBytes(16), alphabet: .url), "iat": now, "exp": now + 60,
    ])
}

/// The answer to an exchange (RFC 6749 §5.1).
struct TokenAnswer: Sendable {
    let accessToken: String
    let refreshToken: String?
    let idToken: String?
    let expiresInSeconds: Int?

    static let maximumTokenBytes = 65_536

    /// Reads the answer of the token endpoint.
    ///
    /// Throws when the access token is missing or is not a bearer token. With `openid`, throws when the
    /// id_token is missing.
    init(_ document: JSONDocument, isOpenID: Bool) throws(SignInFailure) {
        let root = document.root
        guard let accessToken = root["access_token"]?.string, Self.isToken(accessToken) else {
            throw .answerRefused(.token, .missing(.accessToken))
        }
        // RFC 6749 §7.1: a client must not use a token whose type it does not understand.
        guard root["token_type"]?.string.map({ $0.lowercased() == "bearer" }) ?? true else {
            throw .answerRefused(.token, .tokenType)
        }
        self.accessToken = accessToken
        refreshToken = root["refresh_token"]?.string.flatMap { Self.isToken($0) ? $0 : nil }
        idToken = isOpenID ? root["id_token"]?.string : nil
        expiresInSeconds = root["expires_in"]?.int
        if isOpenID, idToken == nil { throw .answerRefused(.token, .missing(.idToken)) }
    }

    /// Whether a text can be sent as a bearer token: printable ASCII without blanks (RFC 6750 §2.1).
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumTokenBytes
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The tokens for an identity.
    func tokens() -> ProviderTokens? {
        guard let access = secret(accessToken) else { return nil }
        return ProviderTokens(
            accessToken: access, refreshToken: secret(refreshToken), idToken: secret(idToken),
            expiresInSeconds: expiresInSeconds)
    }

    private func secret(_ text: String?) -> Secret? {
        // `Secret` refuses only an empty text, which counts as no token.
        text.flatMap { try? Secret(Array($0.utf8)) }
    }
}
