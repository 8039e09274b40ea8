import BalloonWire
import SignIn

/// The secrets that the files of businesses refer to.
struct BusinessSecrets {
    /// The variables of the process.
    let environment: [String: String]
    /// Whether plain `http` to addresses of this machine is allowed, as for a development server.
    var allowsLoopback = false

    /// Reads the text behind a reference; nil after reporting a problem.
    func text(
        of reference: SecretReference, directory: String, _ reader: inout ObjectReader
    ) -> Setting? {
        var problems: [ConfigurationProblem] = []
        let text = reference.resolved(
            in: environment, folder: directory + "/", hint: "set it to the secret", noting: &problems,
            reading: ConfigurationFile.text)
        reader.add(problems)
        return text
    }
}

extension AuthenticationConfiguration {
    /// The keys of `authentication` in a business's file.
    static let keys = [
        "issuer", "authorizationURL", "tokenURL", "jwksURL", "userinfoURL", "subjectClaim", "clientID",
        "clientSecret", "clientAuthentication", "clientKeyFile", "clientKeyID", "scope", "pkce", "nonce",
        "idTokenAlgorithms", "otherAudiences", "authorizationResponseIss", "stateSeconds", "releaseSeconds",
        "confirm", "handTokens",
        "recordSubject", "auditToken", "classic",
    ]
    private static let maximumAudiences = 16
    private static let methods = ["client_secret_post", "client_secret_basic", "private_key_jwt", "none"]

    /// Reads `authentication`; nil after reporting a problem.
    static func read(
        _ reader: inout ObjectReader, directory: String, secrets: BusinessSecrets
    ) -> AuthenticationConfiguration? {
        let issuer = address("issuer", &reader, secrets)
        let authorizationURL = address("authorizationURL", &reader, secrets)
        let tokenURL = address("tokenURL", &reader, secrets)
        let jwksURL = address("jwksURL", &reader, secrets)
        let userinfoURL = address("userinfoURL", &reader, secrets)
        let subjectClaim = word("subjectClaim", &reader)
        let clientID = word("clientID", &reader)
        if !reader.has("clientID") {
            reader.problem("has no \"clientID\"", hint: "copy it from Apple Business Register")
        }
        let scope = scope(&reader)
        let usesPKCE = reader.flag("pkce") ?? true
        let usesNonce = reader.flag("nonce") ?? true
        let algorithms = algorithms(&reader)
        let otherAudiences = otherAudiences(&reader, clientID: clientID)
        let namesIssuer = reader.flag("authorizationResponseIss")
        let stateSeconds = reader.integer("stateSeconds", in: 60...86_400)
        let releaseSeconds = reader.integer("releaseSeconds", in: 10...600)
        let asksToConfirm = reader.flag("confirm") ?? true
        let returnsTokens = reader.flag("handTokens") ?? false
        let recordsSubject = reader.flag("recordSubject") ?? false
        let auditToken = secret("auditToken", &reader, directory, secrets)
        let client = client(&reader, directory, secrets, usesPKCE: usesPKCE)
        let classic = classic(&reader, directory, secrets, besides: client?.authentication)
        let isOpenID = scope?.contains("openid") ?? false
        checkAddresses(&reader, isOpenID: isOpenID)
        checkIssuer(&reader, isOpenID: isOpenID, namesIssuer: namesIssuer)
        if !usesPKCE, !usesNonce {
            reader.problem(
                "switches \"pkce\" and \"nonce\" off, so a stolen code is accepted",
                hint: "leave one of them on")
        } else if !usesPKCE, scope != nil, !isOpenID {
            reader.problem(
                "has \"nonce\" as its only protection, which needs the scope openid",
                hint: "switch \"pkce\" on, or add openid to \"scope\"")
        }
        guard let clientID, let scope, let client else { return nil }
        var provider = Provider(
            issuer: issuer, clientID: clientID, clientAuthentication: client.authentication, scope: scope)
        provider.authorizationURL = authorizationURL
        provider.tokenURL = tokenURL
        provider.jwksURL = jwksURL
        provider.userinfoURL = userinfoURL
        provider.subjectClaim = subjectClaim ?? provider.subjectClaim
        provider.usesPKCE = usesPKCE
        provider.usesNonce = usesNonce
        provider.idTokenAlgorithms = algorithms ?? provider.idTokenAlgorithms
        provider.otherAudiences = otherAudiences
        provider.namesIssuerInCallbacks = namesIssuer
        provider.returnsTokens = returnsTokens
        provider.allowsLoopback = secrets.allowsLoopback
        provider.classic = classic?.client
        var result = AuthenticationConfiguration(provider: provider)
        result.stateLifetime = stateSeconds.map { .seconds($0) } ?? result.stateLifetime
        result.releaseLifetime = releaseSeconds.map { .seconds($0) } ?? result.releaseLifetime
        result.asksToConfirm = asksToConfirm
        result.recordsSubject = recordsSubject
        result.auditToken = auditToken?.secret
        result.secretFiles = client.files + (auditToken?.files ?? []) + (classic?.files ?? [])
        return result
    }

    private static func address(
        _ key: String, _ reader: inout ObjectReader, _ secrets: BusinessSecrets
    ) -> String? {
        guard let text = reader.text(key) else { return nil }
        guard isProviderAddress(text.text, allowsLoopback: secrets.allowsLoopback) else {
            reader.report(
                text, "is not an https address",
                hint:
                    "write https://HOST/PATH without user and fragment; balloon dev allows http://127.0.0.1 too"
            )
            return nil
        }
        return text.text
    }

    private static func word(_ key: String, _ reader: inout ObjectReader) -> String? {
        guard let text = reader.text(key) else { return nil }
        guard (1...512).contains(text.text.utf8.count),
            text.text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            reader.report(
                text, "is not 1 to 512 visible ASCII characters", hint: "write it as the provider shows it")
            return nil
        }
        return text.text
    }

    private static func scope(_ reader: inout ObjectReader) -> [String]? {
        guard reader.has("scope") else {
            reader.problem("has no \"scope\"", hint: "write [\"openid\"], or the provider's own scopes")
            return nil
        }
        guard let items = reader.texts("scope") else { return nil }
        // RFC 6749 §3.3: visible ASCII without quotation mark and backslash.
        let wrong = items.first { item in
            item.text.isEmpty
                || !item.text.utf8.allSatisfy {
                    (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
                }
        }
        if let wrong { reader.report(wrong, "is not a scope", hint: "write one scope in each string") }
        return wrong == nil ? items.map(\.text) : nil
    }

    private static func algorithms(_ reader: inout ObjectReader) -> Set<SignatureAlgorithm>? {
        guard let names = reader.texts("idTokenAlgorithms") else { return nil }
        let known: [String: SignatureAlgorithm] = ["RS256": .rs256, "ES256": .es256]
        for name in names where known[name.text] == nil {
            reader.report(name, "is not an algorithm that is verified", hint: "use RS256 or ES256")
        }
        return Set(names.compactMap { known[$0.text] })
    }

    /// Reads the audiences that an id_token may have besides the client.
    private static func otherAudiences(_ reader: inout ObjectReader, clientID: String?) -> Set<String> {
        guard let names = reader.texts("otherAudiences") else { return [] }
        if names.count > maximumAudiences {
            reader.report(
                names[maximumAudiences], "is more than \(maximumAudiences) audiences",
                hint: "name only the audiences that the provider puts into an id_token for this client")
        }
        for name in names {
            if !(1...512).contains(name.text.utf8.count) {
                reader.report(name, "is not 1 to 512 bytes", hint: "write it as in aud of the id_token")
            } else if name.text == clientID {
                reader.report(
                    name, "is the client itself", hint: "remove it; the client is always an audience")
            }
        }
        return Set(names.map(\.text))
    }

    private static func checkIssuer(
        _ reader: inout ObjectReader, isOpenID: Bool, namesIssuer: Bool?
    ) {
        if namesIssuer == true, !reader.has("issuer") {
            reader.problem(
                "has \"authorizationResponseIss\" but no \"issuer\" to compare iss with",
                hint: "add the provider's issuer")
        }
        if reader.has("otherAudiences"), reader.has("scope"), !isOpenID {
            reader.problem(
                "has \"otherAudiences\" without the scope openid, so there is no id_token",
                hint: "add openid to \"scope\", or remove \"otherAudiences\"")
        }
    }

    private static func checkAddresses(_ reader: inout ObjectReader, isOpenID: Bool) {
        if isOpenID, !reader.has("issuer") {
            reader.problem("has the scope openid but no \"issuer\"", hint: "add the provider's issuer")
        }
        if !isOpenID, reader.has("scope"), !reader.has("userinfoURL") {
            reader.problem(
                "has neither the scope openid nor a \"userinfoURL\"",
                hint: "add openid to \"scope\", or the provider's userinfo address as \"userinfoURL\"")
        }
        if !isOpenID, !reader.has("issuer"), !reader.has("tokenURL") {
            reader.problem("has neither \"issuer\" nor \"tokenURL\"", hint: "add one of them")
        }
    }

    private static func client(
        _ reader: inout ObjectReader, _ directory: String, _ secrets: BusinessSecrets, usesPKCE: Bool
    ) -> (authentication: ClientAuthentication, files: [String])? {
        let named = reader.text("clientAuthentication")
        let method = named?.text ?? methods[0]
        guard methods.contains(method) else {
            if let named {
                reader.report(
                    named, "is not a client authentication",
                    hint: "use one of \(methods.joined(separator: ", "))")
            }
            return nil
        }
        let keyFile = reader.text("clientKeyFile")
        let keyID = reader.text("clientKeyID")
        let needsSecret = method.hasPrefix("client_secret")
        if reader.has("clientSecret") != needsSecret {
            reader.problem(
                needsSecret
                    ? "has no \"clientSecret\"" : "has a \"clientSecret\" that \(method) does not use",
                hint: needsSecret ? "write {\"env\": \"NAME\"} or {\"file\": \"PATH\"}" : "remove it")
            return nil
        }
        let needsKey = method == "private_key_jwt"
        if reader.has("clientKeyFile") != needsKey || (reader.has("clientKeyID") && !needsKey) {
            reader.problem(
                needsKey ? "has no \"clientKeyFile\"" : "has a key that \(method) does not use",
                hint: needsKey ? "name the PEM file of the private key" : "remove it")
            return nil
        }
        switch method {
        case "private_key_jwt":
            guard let keyFile else { return nil }
            return key(keyFile, keyID?.text, &reader, directory)
        case "none":
            if !usesPKCE {
                reader.problem(
                    "has the client authentication none without \"pkce\"", hint: "switch \"pkce\" on")
                return nil
            }
            return (.none, [])
        default:
            guard let (secret, files) = secret("clientSecret", &reader, directory, secrets) else {
                return nil
            }
            return (method == "client_secret_basic" ? .basic(secret) : .post(secret), files)
        }
    }

    /// Reads a secret and the file that contains it; nil when the secret is absent, or after reporting a
    /// problem.
    private static func secret(
        _ key: String, _ reader: inout ObjectReader, _ directory: String, _ secrets: BusinessSecrets
    ) -> (secret: Secret, files: [String])? {
        let reference = reader.object(key, keys: SecretReference.keys) { SecretReference.read(&$0) }
        guard let reference, let text = secrets.text(of: reference, directory: directory, &reader) else {
            return nil
        }
        // Only an empty secret is refused.
        guard let secret = try? Secret(Array(text.text.utf8)) else {
            reader.report(text, "is empty", hint: "set it to the secret")
            return nil
        }
        if case .file(let path) = reference { return (secret, [absolute(path.text, in: directory)]) }
        return (secret, [])
    }

    /// Reads the client for sign-ins of version 1.
    ///
    /// Its secret must differ from the secret of version 2, because the server sends it to devices.
    private static func classic(
        _ reader: inout ObjectReader, _ directory: String, _ secrets: BusinessSecrets,
        besides client: ClientAuthentication?
    ) -> (client: ClassicClient, files: [String])? {
        reader.object("classic", keys: ["clientID", "clientSecret", "introspectionURL"]) { reader in
            let clientID = word("clientID", &reader)
            let secret = secret("clientSecret", &reader, directory, secrets)
            let introspectionURL = address("introspectionURL", &reader, secrets)
            for key in ["clientID", "clientSecret"] where !reader.has(key) {
                reader.problem(
                    "has no \"\(key)\"",
                    hint:
                        "register a separate client for sign-ins of version 1 at the provider, and write its \(key == "clientID" ? "identifier" : "secret") here"
                )
            }
            guard let clientID, let secret else { return nil }
            switch client {
            case .post(let other)?, .basic(let other)?:
                if other == secret.secret {
                    reader.problem(
                        "has the \"clientSecret\" of version 2, and would send it to devices",
                        hint: "register a separate client at the provider for sign-ins of version 1")
                    return nil
                }
            case .privateKeyJWT?, ClientAuthentication.none?, nil: break
            }
            return (
                ClassicClient(
                    clientID: clientID, clientSecret: secret.secret, introspectionURL: introspectionURL),
                secret.files
            )
        }
    }

    private static func key(
        _ path: Setting, _ keyID: String?, _ reader: inout ObjectReader, _ directory: String
    ) -> (authentication: ClientAuthentication, files: [String])? {
        let file = absolute(path.text, in: directory)
        do throws(InvalidSetting) {
            let text = try ConfigurationFile.text(file)
            // Every unusable file gets the same reason, which does not describe the format further.
            guard let pem = try? Secret(Array((text + "\n").utf8)), let key = try? SigningKey(pem: pem) else {
                throw InvalidSetting(
                    "is not a private key that can sign id_tokens",
                    hint: "write an RSA key of 2048 to 8192 bits or a P-256 key in PEM, without a password")
            }
            return (.privateKeyJWT(key, keyID: keyID), [file])
        } catch {
            reader.report(path, error.reason, hint: error.hint)
            return nil
        }
    }

    private static func absolute(_ path: String, in directory: String) -> String {
        path.hasPrefix("/") ? path : directory + "/" + path
    }
}
