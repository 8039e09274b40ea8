import BalloonJSON
import BalloonWire

/// The secrets of one sign-in request, created when the message is sent and needed again at the callback.
///
/// State, verifier and nonce are 32 random bytes each, written in Base64url. They are never printed.
package struct SignInAttempt: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// The value in the callback that identifies the request.
    package let state: String
    /// The PKCE code verifier, from which the challenge derives (RFC 7636 §4.1); nil without PKCE.
    package let verifier: String?
    /// The value that the id_token must repeat; nil without `openid`, or when the provider does not support a
    /// nonce.
    package let nonce: String?
    /// The address of our callback, which the token request repeats.
    package let redirectURI: String
    /// The requested scopes.
    package let scope: [String]

    /// The parameters of the protocol, which a business's own parameters must not contain.
    package static let protocolParameters: Set<String> = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
        "code_challenge", "code_challenge_method", "request", "request_uri",
    ]

    /// The maximum bytes of a business's own parameters.
    package static let maximumParameterBytes = 2048

    /// Creates random secrets for a request; `scope` replaces the provider's scopes unless it is nil or
    /// empty.
    package init(at provider: Provider, redirectURI: String, scope: [String]? = nil) {
        let wanted = scope ?? []
        self.scope = wanted.isEmpty ? provider.scope : wanted
        self.redirectURI = redirectURI
        state = Self.random()
        verifier = provider.usesPKCE ? Self.random() : nil
        nonce = provider.usesNonce && self.scope.contains("openid") ? Self.random() : nil
    }

    /// Restores the secrets of an open request.
    package init(state: String, verifier: String?, nonce: String?, redirectURI: String, scope: [String]) {
        self.state = state
        self.verifier = verifier
        self.nonce = nonce
        self.redirectURI = redirectURI
        self.scope = scope
    }

    /// Whether the request asks for an id_token.
    package var isOpenID: Bool { scope.contains("openid") }

    /// The S256 challenge of the verifier (RFC 7636 §4.2); nil without PKCE.
    package var challenge: String? {
        verifier.map { Base64.encode(SHA256.hash($0.utf8), alphabet: .url) }
    }

    /// The message's `additionalParameters`: the business's own parameters, then challenge and nonce.
    ///
    /// Throws ``SignInFailure/parametersRefused`` when `own` is longer than 2,048 bytes, is not a query of
    /// printable ASCII, or contains one of ``protocolParameters``, even percent-encoded.
    ///
    /// Throws ``SignInFailure/unprotected`` when there is neither: a stolen code would then be accepted.
    package func additionalParameters(merging own: String? = nil) throws(SignInFailure) -> String? {
        guard verifier != nil || nonce != nil else { throw .unprotected }
        if let own { try Self.check(own) }
        var ours = FormFields()
        ours.add("code_challenge", challenge)
        ours.add("code_challenge_method", challenge.map { _ in "S256" })
        ours.add("nonce", nonce)
        let parts = [own ?? "", ours.encoded].filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: "&")
    }

    /// Checks a business's own parameters; throws ``SignInFailure/parametersRefused``.
    package static func check(_ own: String) throws(SignInFailure) {
        guard own.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }),
            // Drop the parser's error: it can only mean that the query is malformed.
            let form = try? FormFields(parsing: own.utf8, maximumBytes: maximumParameterBytes),
            form.fields.allSatisfy({ !$0.name.isEmpty && !protocolParameters.contains($0.name) })
        else { throw .parametersRefused }
    }

    private static func random() -> String { Base64.encode(randomBytes(32), alphabet: .url) }

    /// A mask of constant length.
    package var description: String { "********" }

    /// A mirror without children, so that `dump` of a value that contains this one shows no secret.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
