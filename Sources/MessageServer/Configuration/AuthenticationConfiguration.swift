package import BalloonWire
package import SignIn

/// The identity provider at which a business's customers sign in, JSON: `authentication`.
///
/// ```json
/// {"issuer": "https://login.example.com", "clientID": "balloon", "clientSecret": {"env": "LOGIN_SECRET"},
///  "scope": ["openid", "email"]}
/// ```
package struct AuthenticationConfiguration: Sendable {
    /// The identity provider, with this server's registration as its client.
    package var provider: Provider
    /// The maximum time from the gateway's acceptance of the message to the provider's callback, JSON:
    /// `stateSeconds`.
    package var stateLifetime = Duration.seconds(600)
    /// The maximum time from the callback to Apple's event, JSON: `releaseSeconds`.
    package var releaseLifetime = Duration.seconds(120)
    /// Whether a page asks the customer to confirm the sign-in, JSON: `confirm`.
    package var asksToConfirm = true
    /// Whether the line in the conversation has the customer's identifier at the provider, JSON:
    /// `recordSubject`.
    package var recordsSubject = false
    /// The bearer token that the provider sends when it checks a key of version 1, JSON: `auditToken`.
    package var auditToken: Secret?
    /// The files that the configuration reads secrets from.
    package var secretFiles: [String] = []

    /// Creates a configuration with the default times.
    package init(provider: Provider) { self.provider = provider }
}
