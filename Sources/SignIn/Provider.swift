package import BalloonWire

/// An identity provider and our client there, as the configuration of a business states them.
package struct Provider: Sendable {
    /// The provider's identifier (OpenID Connect Discovery §2), compared byte for byte; nil without `openid`.
    package var issuer: String?
    /// The address that the customer's device opens; discovery has it otherwise.
    package var authorizationURL: String?
    /// The address that exchanges a code; discovery has it otherwise.
    package var tokenURL: String?
    /// The address of the provider's public keys; discovery has it otherwise.
    package var jwksURL: String?
    /// The address of further claims; discovery has it otherwise, and with `openid` it may be absent.
    package var userinfoURL: String?
    /// Our identifier at the provider, as in Apple Business Register.
    package var clientID: String
    /// The proof that a token request is ours.
    package var clientAuthentication: ClientAuthentication
    /// The scopes of a request that names none.
    package var scope: [String]
    /// Whether requests carry an S256 challenge (RFC 7636).
    package var usesPKCE = true
    /// Whether requests with `openid` carry a nonce (OpenID Connect Core §3.1.2.1).
    package var usesNonce = true
    /// The algorithms that may sign an id_token.
    package var idTokenAlgorithms: Set<SignatureAlgorithm> = [.rs256, .es256]
    /// The audiences that an id_token may have beside our client.
    package var otherAudiences: Set<String> = []
    /// The member of userinfo that identifies the customer when the scope has no `openid`.
    package var subjectClaim = "sub"
    /// Whether an identity carries the provider's tokens.
    package var returnsTokens = false
    /// Whether `http` addresses of this machine are allowed: under `balloon dev` and in tests.
    package var allowsLoopback = false
    /// The client of authentications of version 1; nil when the business has none.
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

/// The client of version 1: its secret reaches the customer's device, so it is not the client of version 2.
package struct ClassicClient: Sendable {
    /// The client's identifier at the provider.
    package var clientID: String
    /// The client's secret, which the message carries.
    package var clientSecret: Secret
    /// The address that describes a token (RFC 7662); without it no token of version 1 is verified.
    package var introspectionURL: String?

    /// Creates a client.
    package init(clientID: String, clientSecret: Secret, introspectionURL: String?) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.introspectionURL = introspectionURL
    }
}

/// The proof that a request to the provider is ours (OpenID Connect Core §9).
package enum ClientAuthentication: Sendable {
    /// The secret in the form: `client_secret_post`.
    case post(Secret)
    /// The secret in the `Authorization` field: `client_secret_basic`.
    case basic(Secret)
    /// A token of 60 seconds, signed with our key: `private_key_jwt`.
    case privateKeyJWT(SigningKey, keyID: String?)
    /// No proof; the code is bound to us by the challenge alone.
    case none
}
