package import BalloonWire

/// An identity provider and our client there, as the configuration of a business states them.
package struct Provider: Sendable {
    /// The provider's issuer (OpenID Connect Discovery §2), compared byte for byte; can be nil without
    /// `openid`.
    package var issuer: String?
    /// The address that the customer's device opens; nil to use the address from discovery.
    package var authorizationURL: String?
    /// The address that exchanges a code for tokens; nil to use the address from discovery.
    package var tokenURL: String?
    /// The address of the provider's public keys; nil to use the address from discovery.
    package var jwksURL: String?
    /// The address of userinfo, which is optional with `openid`; nil to use the address from discovery.
    package var userinfoURL: String?
    /// Our identifier at the provider, as in Apple Business Register.
    package var clientID: String
    /// The method by which a token request proves that it comes from our client.
    package var clientAuthentication: ClientAuthentication
    /// The scopes of a sign-in request that names no scopes.
    package var scope: [String]
    /// Whether every callback names the issuer as `iss` (RFC 9207 §2); nil for what discovery says.
    ///
    /// When the configuration has all addresses, there is no discovery, and nil means false.
    package var namesIssuerInCallbacks: Bool?
    /// Whether requests carry an S256 challenge (RFC 7636).
    package var usesPKCE = true
    /// Whether requests with `openid` carry a nonce (OpenID Connect Core §3.1.2.1).
    package var usesNonce = true
    /// The algorithms that may sign an id_token.
    package var idTokenAlgorithms: Set<SignatureAlgorithm> = [.rs256, .es256]
    /// The audiences that an id_token may name besides our client; its `azp` must then name our client.
    package var otherAudiences: Set<String> = []
    /// The member of userinfo that identifies the customer when the scope has no `openid`.
    package var subjectClaim = "sub"
    /// Whether an identity carries the provider's tokens.
    package var returnsTokens = false
    /// Whether `http` addresses on this machine are allowed, as under `balloon dev` and in tests.
    package var allowsLoopback = false
    /// The client for authentications of version 1; nil when the business supports version 2 only.
    package var classic: ClassicClient?

    /// Creates a provider with the default settings.
    package init(
        issuer: String?, clientID: String, clientAuthentication: ClientAuthentication, scope: [String]
    ) {
        self.issuer = issuer
        self.clientID = clientID
        self.clientAuthentication = clientAuthentication
        self.scope = scope
    }
}

/// The client for authentications of version 1.
///
/// It is not the client for version 2, because the message sends its secret to the customer's device.
package struct ClassicClient: Sendable {
    /// The client's identifier at the provider.
    package var clientID: String
    /// The client's secret, which the message to the customer's device contains.
    package var clientSecret: Secret
    /// The address of token introspection (RFC 7662); without it, tokens of version 1 are not verified.
    package var introspectionURL: String?

    /// Creates a client.
    package init(clientID: String, clientSecret: Secret, introspectionURL: String?) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.introspectionURL = introspectionURL
    }
}

/// The method by which a request proves that it comes from our client (OpenID Connect Core §9).
package enum ClientAuthentication: Sendable {
    /// The client's secret as a form field: `client_secret_post`.
    case post(Secret)
    /// The client's secret in the `Authorization` header field: `client_secret_basic`.
    case basic(Secret)
    /// A token that is signed with our key and valid for 60 seconds: `private_key_jwt`.
    case privateKeyJWT(SigningKey, keyID: String?)
    /// No proof: only the challenge of PKCE binds the code to our request.
    case none
}
