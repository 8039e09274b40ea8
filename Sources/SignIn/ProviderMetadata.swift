import BalloonJSON

/// The URLs of a sign-in provider.
///
/// A URL that the configuration does not name comes from the provider's discovery document.
struct ProviderMetadata: Sendable, Equatable {
    var tokenURL: String?
    var jwksURL: String?
    var userinfoURL: String?
    /// The address that the customer's device opens; the device knows it from Apple Business Register.
    var authorizationURL: String?
    /// Whether the provider announces that its callbacks contain its issuer as `iss` (RFC 9207 §3); nil when
    /// neither the configuration nor discovery says so.
    var announcesIssuer: Bool?

    /// Creates metadata with the addresses of the configuration only.
    init(_ provider: Provider) {
        tokenURL = provider.tokenURL
        jwksURL = provider.jwksURL
        userinfoURL = provider.userinfoURL
        authorizationURL = provider.authorizationURL
        announcesIssuer = provider.namesIssuerInCallbacks
    }

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

    /// Returns these addresses, completed by the discovered ones where the configuration lacks an address.
    func completed(by discovered: ProviderMetadata) -> ProviderMetadata {
        var result = self
        result.tokenURL = tokenURL ?? discovered.tokenURL
        result.jwksURL = jwksURL ?? discovered.jwksURL
        result.userinfoURL = userinfoURL ?? discovered.userinfoURL
        result.authorizationURL = authorizationURL ?? discovered.authorizationURL
        result.announcesIssuer = announcesIssuer ?? discovered.announcesIssuer
        return result
    }

    /// Whether discovery is needed, because the configuration lacks an address that the server itself must
    /// call.
    func needsDiscovery(isOpenID: Bool) -> Bool {
        tokenURL == nil || (isOpenID ? jwksURL == nil : userinfoURL == nil)
    }
}

extension Provider {
    /// The address of the discovery document; nil without an issuer (OpenID Connect Discovery §4).
    var discoveryURL: String? {
        guard var issuer else { return nil }
        while issuer.hasSuffix("/") { issuer.removeLast() }
        return issuer + "/.well-known/openid-configuration"
    }
}
