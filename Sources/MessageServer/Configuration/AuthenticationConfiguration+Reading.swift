import BalloonWire
import SignIn

/// The secrets that the files of businesses refer to.
struct BusinessSecrets {
    /// The variables of the process.
    let environment: [String: String]
    /// Whether plain `http` to addresses of this machine is allowed, as for a development server.
    var allowsLoopback = false
}

extension AuthenticationConfiguration {
    private static let maximumAudiences = 16
    private static let methods = ["client_secret_post", "client_secret_basic", "private_key_jwt", "none"]

    /// Reads `authentication`; nil after reporting a problem.
    static func read(
        _ reader: inout ObjectReader, secrets: BusinessSecrets
    ) -> AuthenticationConfiguration? {
        var provider = Provider(
            issuer: address("issuer", &reader, secrets), clientID: "", clientAuthentication: .none, scope: [])
        provider.authorizationURL = address("authorizationURL", &reader, secrets)
        provider.tokenURL = address("tokenURL", &reader, secrets)
        provider.jwksURL = address("jwksURL", &reader, secrets)
        provider.userinfoURL = address("userinfoURL", &reader, secrets)
        provider.subjectClaim = word("subjectClaim", &reader) ?? provider.subjectClaim
        let clientID = word("clientID", &reader)
        reader.require("clientID", hint: "copy it from Apple Business Register")
        let scope = scope(&reader)
        provider.usesPKCE = reader.flag("pkce") ?? true
        provider.usesNonce = reader.flag("nonce") ?? true
        provider.idTokenAlgorithms = algorithms(&reader) ?? provider.idTokenAlgorithms
        provider.otherAudiences = otherAudiences(&reader, clientID: clientID)
        provider.namesIssuerInCallbacks = reader.flag("authorizationResponseIss")
        provider.allowsLoopback = secrets.allowsLoopback
        var result = AuthenticationConfiguration(provider: provider)
        reader.set(&result.stateLifetime, "stateSeconds", in: 60...86_400)
        reader.set(&result.releaseLifetime, "releaseSeconds", in: 10...600)
        result.asksToConfirm = reader.flag("confirm") ?? true
        result.provider.returnsTokens = reader.flag("handTokens") ?? false
        result.recordsSubject = reader.flag("recordSubject") ?? false
        var auditFiles: [String] = []
        result.auditToken = secret("auditToken", &reader, secrets, &auditFiles)
        let client = client(&reader, secrets, usesPKCE: provider.usesPKCE, &result.secretFiles)
        result.secretFiles += auditFiles
        result.provider.classic = classic(&reader, secrets, besides: client, &result.secretFiles)
        let isOpenID = scope?.contains("openid") ?? false
        checkAddresses(&reader, isOpenID: isOpenID)
        checkIssuer(&reader, isOpenID: isOpenID, namesIssuer: provider.namesIssuerInCallbacks)
        if !provider.usesPKCE, !provider.usesNonce {
            reader.problem(
                "switches \"pkce\" and \"nonce\" off, so a stolen code is accepted",
                hint: "leave one of them on")
        } else if !provider.usesPKCE, scope != nil, !isOpenID {
            reader.problem(
                "has \"nonce\" as its only protection, which needs the scope openid",
                hint: "switch \"pkce\" on, or add openid to \"scope\"")
        }
        guard let clientID, let scope, let client else { return nil }
        result.provider.clientID = clientID
        result.provider.clientAuthentication = client
        result.provider.scope = scope
        return result
    }

    private static func address(
        _ key: String, _ reader: inout ObjectReader, _ secrets: BusinessSecrets
    ) -> String? {
        reader.value(key) { text throws(InvalidSetting) in
            guard isProviderAddress(text, allowsLoopback: secrets.allowsLoopback) else {
                throw InvalidSetting(
                    "is not an https address",
                    hint:
                        "write https://HOST/PATH without user and fragment; balloon dev allows http://127.0.0.1 too"
                )
            }
            return text
        }
    }

    private static func word(_ key: String, _ reader: inout ObjectReader) -> String? {
        reader.word(key, maximum: 512, hint: "write it as the provider shows it")
    }

    private static func scope(_ reader: inout ObjectReader) -> [String]? {
        guard reader.has("scope") else {
            reader.problem("has no \"scope\"", hint: "write [\"openid\"], or the provider's own scopes")
            return nil
        }
        guard let items = reader.texts("scope") else { return nil }
        let wrong = items.first { !isScope($0.text) }
        if let wrong { reader.report(wrong, "is not a scope", hint: "write one scope in each string") }
        return wrong == nil ? items.map(\.text) : nil
    }

    /// Whether a text is one scope, RFC 6749 §3.3: visible ASCII without quotation mark and backslash.
    private static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy {
                (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
            }
    }

    private static func algorithms(_ reader: inout ObjectReader) -> Set<SignatureAlgorithm>? {
        let known: [String: SignatureAlgorithm] = ["RS256": .rs256, "ES256": .es256]
        let algorithms = reader.values("idTokenAlgorithms") { name throws(InvalidSetting) in
            try checked(known[name], "is not an algorithm that is verified", hint: "use RS256 or ES256")
        }
        return algorithms.map { Set($0) }
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
        _ reader: inout ObjectReader, _ secrets: BusinessSecrets, usesPKCE: Bool, _ files: inout [String]
    ) -> ClientAuthentication? {
        let hasSecret = reader.has("clientSecret")
        let named = reader.text("clientAuthentication")
        let keyFile = reader.text("clientKeyFile")
        let keyID = reader.text("clientKeyID")
        let method = named?.text ?? methods[0]
        guard methods.contains(method) else {
            if let named {
                reader.report(
                    named, "is not a client authentication",
                    hint: "use one of \(methods.joined(separator: ", "))")
            }
            return nil
        }
        let needsSecret = method.hasPrefix("client_secret")
        if hasSecret != needsSecret {
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
            let key = reader.signingKey(
                keyFile, [.rs256, .es256], "is not a private key that can sign id_tokens",
                hint: "write an RSA key of 2048 to 8192 bits or a P-256 key in PEM, without a password")
            files.append(reader.absolute(keyFile.text))
            return key.map { .privateKeyJWT($0, keyID: keyID?.text) }
        case "none":
            if !usesPKCE {
                reader.problem(
                    "has the client authentication none without \"pkce\"", hint: "switch \"pkce\" on")
                return nil
            }
            return ClientAuthentication.none
        default:
            return secret("clientSecret", &reader, secrets, &files).map {
                method == "client_secret_basic" ? .basic($0) : .post($0)
            }
        }
    }

    /// Reads a secret and appends the file that contains it to `files`; nil when the secret is absent, or
    /// after reporting a problem.
    private static func secret(
        _ key: String, _ reader: inout ObjectReader, _ secrets: BusinessSecrets, _ files: inout [String]
    ) -> Secret? {
        guard let reference = reader.object(key, SecretReference.read) else { return nil }
        let folder = reader.directory + "/"
        let text = reader.noting {
            reference.resolved(
                in: secrets.environment, folder: folder, hint: "set it to the secret", noting: &$0)
        }
        guard let text else { return nil }
        // Only an empty secret is refused.
        guard let secret = try? Secret(Array(text.text.utf8)) else {
            reader.report(text, "is empty", hint: "set it to the secret")
            return nil
        }
        files += [reference.path(in: folder)].compactMap { $0 }
        return secret
    }

    /// Reads the client for sign-ins of version 1.
    ///
    /// Its secret must differ from the secret of version 2, because the server sends it to devices.
    private static func classic(
        _ reader: inout ObjectReader, _ secrets: BusinessSecrets, besides client: ClientAuthentication?,
        _ files: inout [String]
    ) -> ClassicClient? {
        reader.object("classic") { reader in
            let clientID = word("clientID", &reader)
            let secret = secret("clientSecret", &reader, secrets, &files)
            let introspectionURL = address("introspectionURL", &reader, secrets)
            let register =
                "register a separate client for sign-ins of version 1 at the provider, and write its"
            reader.require("clientID", hint: register + " identifier here")
            reader.require("clientSecret", hint: register + " secret here")
            guard let clientID, let secret else { return nil }
            switch client {
            case .post(let other)?, .basic(let other)?:
                if other == secret {
                    reader.problem(
                        "has the \"clientSecret\" of version 2, and would send it to devices",
                        hint: "register a separate client at the provider for sign-ins of version 1")
                    return nil
                }
            case .privateKeyJWT?, ClientAuthentication.none?, nil: break
            }
            return ClassicClient(
                clientID: clientID, clientSecret: secret, introspectionURL: introspectionURL)
        }
    }
}
