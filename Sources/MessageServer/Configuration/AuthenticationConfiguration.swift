package import BalloonWire
package import SignIn

/// The identity provider at which a business's customers sign in, JSON: `authentication`.
///
/// ```json
/// {"issuer": "https://login.example.com", "clientID": "balloon", "clientSecret": {"env": "LOGIN_SECRET"},
///  "scope": ["openid", "email"]}
/// ```
package struct AuthenticationConfiguration: Sendable {
    /// The provider, and our client there.
    package var provider: Provider
    /// The time from the gateway's acceptance to the provider's callback, JSON: `stateSeconds`.
    package var stateLifetime = Duration.seconds(600)
    /// The time from the callback to Apple's event, JSON: `releaseSeconds`.
    package var releaseLifetime = Duration.seconds(120)
    /// Whether a page asks the customer to confirm the sign-in, JSON: `confirm`.
    package var asksToConfirm = true
    /// Whether the event's line names the customer at the provider, JSON: `recordSubject`.
    package var recordsSubject = false
    /// The bearer token with which the provider checks a key of version 1, JSON: `auditToken`.
    package var auditToken: Secret?
    /// The files that the configuration reads secrets from.
    package var secretFiles: [String] = []

    /// Creates a configuration with the default times.
    package init(provider: Provider) { self.provider = provider }
}
