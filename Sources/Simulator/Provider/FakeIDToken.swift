import BalloonJSON
import BalloonPOSIX
import BalloonWire

/// The id_token of a grant, with the faults that a test asked for.
struct FakeIDToken {
    private let grant: FakeGrant
    private let issuer: String
    private let key: SigningKey
    private let keyID: String
    private let faults: Set<IDTokenFault>

    init(_ grant: FakeGrant, _ provider: FakeProvider) {
        self.grant = grant
        issuer = provider.issuer ?? ""
        (key, keyID) = provider.key
        faults = Set(
            provider.faults.compactMap { fault in
                if case .idToken(let fault) = fault { fault } else { nil }
            })
    }

    /// The token in its compact form; nil only when memory is exhausted.
    var encoded: String? {
        if faults.contains(.encrypted) { return "e30.e30.e30.e30.e30" }
        if faults.contains(.hs256) { return signedWithPublicKey }
        guard let token = try? key.sign(header: header, claims: claims) else { return nil }
        if faults.contains(.algorithmNone) { return String(token.prefix { $0 != "." }) + payload + ".AA" }
        guard faults.contains(.wrongSignature) else { return token }
        return token.dropLast(4) + (token.hasSuffix("AAAA") ? "BBBA" : "AAAA")
    }

    private var payload: String { "." + Base64.encode(claims, alphabet: .url) }

    private var header: [UInt8] {
        JSONWriter.object([
            "alg": faults.contains(.algorithmNone) ? "none" : key.publicKey.algorithm.rawValue,
            "kid": faults.contains(.unknownKey) ? "key-unknown" : keyID,
            "crit": faults.contains(.critical) ? ["b64"] : nil,
        ])
    }

    private var claims: [UInt8] {
        let now = SystemClock.secondsSince1970()
        let nonce = faults.contains(.wrongNonce) ? "another-nonce" : grant.nonce
        return JSONWriter.object { writer in
            writer.fields([
                "iss": faults.contains(.wrongIssuer) ? issuer + "/other" : issuer, "sub": grant.subject,
            ])
            if faults.contains(.repeatedMember) { writer.field("sub", "user-mallory") }
            writer.fields([
                "aud": faults.contains(.wrongAudience) ? "another-client" : grant.clientID, "iat": now,
                "exp": faults.contains(.expired) ? now - 300 : now + 300,
                "nonce": faults.contains(.missingNonce) ? nil : nonce, "acr": "urn:example:silver",
            ])
        }
    }

    /// The token of a known attack, signed with HS256 and the provider's public key as the secret (RFC 8725
    /// §2.1).
    private var signedWithPublicKey: String? {
        let text = key.publicKey.members.map(\.value).joined()
        return (try? Secret(Array(text.utf8))).map { TokenSigner(secret: $0).sign(claims) }
    }
}
