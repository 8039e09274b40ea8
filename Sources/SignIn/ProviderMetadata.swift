import BalloonJSON

/// The content of a provider's discovery document, for what the configuration does not name.
struct ProviderMetadata: Sendable, Equatable {
    let tokenURL: String?
    let jwksURL: String?
    let userinfoURL: String?
    /// The address that the customer's device opens; the device knows it from Apple Business Register.
    let authorizationURL: String?
    /// Whether the provider announces that its callbacks contain its issuer as `iss` (RFC 9207 §3).
    let announcesIssuer: Bool

    /// Reads a discovery document (OpenID Connect Discovery §3); throws when its issuer is not `issuer`, byte
    /// for byte.
    init(discovered document: JSONDocument, issuer: String) throws(SignInFailure) {
        let root = document.root
        guard root["issuer"]?.equals(issuer) == true else {
            throw .answerRefused(.discovery, .issuerDiffers)
        }
        tokenURL = root["token_endpoint"]?.string
        jwksURL = root["jwks_uri"]?.string
        userinfoURL = root["userinfo_endpoint"]?.string
        authorizationURL = root["authorization_endpoint"]?.string
        announcesIssuer = root["authorization_response_iss_parameter_supported"]?.bool ?? false
    }
}

extension Provider {
    /// The address of the discovery document; nil without an issuer (OpenID Connect Discovery §4).
    var discoveryURL: String? {
        guard var issuer else { return nil }
        while issuer.hasSuffix("/") { issuer.removeLast() }
        return issuer + "/.well-known/openid-configuration"
    }

    /// Whether discovery is needed, because the configuration lacks an address that the server itself must
    /// call.
    func needsDiscovery(isOpenID: Bool) -> Bool {
        tokenURL == nil || (isOpenID ? jwksURL == nil : userinfoURL == nil)
    }

    /// Returns this provider, with the discovered values that the configuration lacks.
    func completed(by discovered: ProviderMetadata) -> Provider {
        var result = self
        result.tokenURL = tokenURL ?? discovered.tokenURL
        result.jwksURL = jwksURL ?? discovered.jwksURL
        result.userinfoURL = userinfoURL ?? discovered.userinfoURL
        result.authorizationURL = authorizationURL ?? discovered.authorizationURL
        result.namesIssuerInCallbacks = namesIssuerInCallbacks ?? discovered.announcesIssuer
        return result
    }
}
