internal import BalloonJSON

/// A request to sign in, in either version; sent to `/v1/authenticate`.
///
/// ```json
/// "data": {"version": "1.0", "authenticate": {"oauth2": {"responseType": "code", "scope": ["email"], "state": "…",
///          "responseEncryptionKey": "BFz9…", "clientSecret": "…"}}}
/// "data": {"version": "2.0", "authenticate": {"oauth2": {"responseType": "code", "scope": ["email"], "state": "…",
///          "redirectURI": "https://…", "additionalParameters": "a=1&b=2"}}}
/// ```
/// Apple MSP API, "Authentication Message" and "Sending an Authentication Message". Version 1 needs
/// ``Capability/authentication``, version 2 ``Capability/authentication2``.
public struct AuthenticationRequest: Hashable, Sendable {
    /// The data specific to a version.
    public enum Procedure: Hashable, Sendable {
        /// The device fetches the token and sends it encrypted.
        ///
        /// The encryption key is the public point of a P-384 key pair: 97 bytes, written as Base64. The device sends
        /// the client secret to the identity provider.
        case one(responseEncryptionKey: String, clientSecret: String)
        /// The business fetches the token after the identity provider redirected the customer to `redirectURI`.
        ///
        /// The parameters, such as `a=1&b=2`, are added to the query of the provider's address.
        case two(redirectURI: String, additionalParameters: String? = nil)
    }

    /// The scopes requested from the identity provider.
    public let scope: [String]
    /// A random value that the answer repeats; use it once.
    public let state: String
    /// The version, with its specific data.
    public let procedure: Procedure
    /// The bubbles, images and identifiers, which all interactive messages have.
    public let presentation: Presentation

    /// Creates a request to sign in.
    public init(scope: [String], state: String, _ procedure: Procedure, presentation: Presentation) {
        self.scope = scope
        self.state = state
        self.procedure = procedure
        self.presentation = presentation
    }

    /// The capability that the device needs.
    public var capability: Capability {
        switch procedure {
        case .one: .authentication
        case .two: .authentication2
        }
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        let oauth2: JSONObject =
            switch procedure {
            case .one(let key, let secret):
                [
                    "responseType": "code", "scope": scope, "state": state, "responseEncryptionKey": key,
                    "clientSecret": secret,
                ]
            case .two(let redirectURI, let parameters):
                [
                    "responseType": "code", "scope": scope, "state": state, "redirectURI": redirectURI,
                    "additionalParameters": parameters,
                ]
            }
        presentation.write(
            to: &writer, id: id, version: version, ["authenticate": JSONObject(["oauth2": oauth2])])
    }

    private var version: String {
        switch procedure {
        case .one: "1.0"
        case .two: "2.0"
        }
    }
}
