package import BalloonWire

/// A customer at a provider, as the provider stated it and this target verified it.
package struct Identity: Sendable, Equatable {
    /// The provider: its issuer, or the address of userinfo when it has none.
    package let issuer: String
    /// The customer's identifier at that provider, never reused for another person.
    package let subject: String
    /// Claims about the customer, a JSON object: those of userinfo, and those of the id_token that describe a person
    /// or how the person signed in.
    package let claims: [UInt8]
    /// The provider's tokens; nil unless ``Provider/returnsTokens``.
    package let tokens: ProviderTokens?

    /// Creates an identity, for tests.
    package init(issuer: String, subject: String, claims: [UInt8], tokens: ProviderTokens? = nil) {
        self.issuer = issuer
        self.subject = subject
        self.claims = claims
        self.tokens = tokens
    }
}

/// The tokens of a completed exchange; never printed.
package struct ProviderTokens: Sendable, Equatable {
    /// The bearer token for the provider's interfaces.
    package let accessToken: Secret
    /// The token that gets new access tokens.
    package let refreshToken: Secret?
    /// The signed statement about the customer.
    package let idToken: Secret?
    /// The life of the access token in seconds.
    package let expiresInSeconds: Int?

    /// Creates tokens, for tests.
    package init(accessToken: Secret, refreshToken: Secret?, idToken: Secret?, expiresInSeconds: Int?) {
        self.accessToken = accessToken
        self.refreshToken = refreshToken
        self.idToken = idToken
        self.expiresInSeconds = expiresInSeconds
    }
}

/// The result of an authentication of version 1.
package enum ClassicResult: Sendable, Equatable {
    /// The provider says that the token is valid and was issued to our client.
    case signedIn(Identity)
    /// Userinfo accepted the token, but which client it was issued to is unknown; `claims` is a JSON object.
    case unverified(claims: [UInt8])
}
