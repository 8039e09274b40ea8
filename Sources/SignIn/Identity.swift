package import BalloonWire

/// The identity of a customer at a provider, stated by the provider and verified by this target.
package struct Identity: Sendable, Equatable {
    /// The provider's issuer, or the address of its userinfo endpoint when it has no issuer.
    package let issuer: String
    /// The customer's identifier at the provider, which the provider never reuses for another person.
    package let subject: String
    /// The claims about the customer, a JSON object.
    ///
    /// It contains the claims of userinfo, and those of the id_token that describe the person or the way of
    /// signing in.
    package let claims: [UInt8]
    /// The provider's tokens; nil unless ``Provider/returnsTokens``.
    package let tokens: ProviderTokens?
}

/// The tokens that a provider issued; their texts are never printed.
package struct ProviderTokens: Sendable, Equatable {
    /// The bearer token for the provider's APIs.
    package let accessToken: Secret
    /// The token that gets new access tokens.
    package let refreshToken: Secret?
    /// The id_token, the provider's signed statement about the customer.
    package let idToken: Secret?
    /// The life of the access token in seconds.
    package let expiresInSeconds: Int?
}

/// The result of an authentication of version 1.
package enum ClassicResult: Sendable, Equatable {
    /// The provider says that the token is valid and was issued to our client.
    case signedIn(Identity)
    /// Userinfo accepted the token, but it is unknown for which client the token was issued; `claims` is a
    /// JSON object.
    case unverified(claims: [UInt8])
}
