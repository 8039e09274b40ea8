import BalloonJSON
import BalloonWire
import SignIn

/// An id_token that every rule accepts, until a test changes a part of it.
struct TokenSample {
    static let issuer = "https://id.example"
    static let clientID = "balloon"
    static let nonce = "the-nonce"
    static let now = 1_800_000_000

    /// The members of the header as JSON; nil removes one.
    var header: [String: String?]
    /// The members of the claims as JSON.
    var claims: [String: String?] = [
        "iss": #""https://id.example""#, "sub": #""customer-1""#, "aud": #""balloon""#,
        "exp": "1800000300", "iat": "1800000000", "nonce": #""the-nonce""#,
    ]
    let key: SigningKey

    init(signedBy key: SigningKey, keyID: String? = "k1") {
        self.key = key
        header = ["alg": #""\#(key.publicKey.algorithm.rawValue)""#, "kid": keyID.map { #""\#($0)""# }]
    }

    func encoded() throws -> String {
        try key.sign(header: Self.object(header), claims: Self.object(claims))
    }

    static func object(_ members: [String: String?]) -> [UInt8] {
        let present = members.compactMapValues(\.self).sorted { $0.key < $1.key }
        return Array("{\(present.map { #""\#($0.key)":\#($0.value)"# }.joined(separator: ","))}".utf8)
    }

    static func keys(_ entries: [(id: String?, key: PublicKey, more: String)]) throws -> JSONWebKeys {
        let list = entries.map { jwk($0.key, id: $0.id, more: $0.more) }.joined(separator: ",")
        let document = try JSONDocument(Array(#"{"keys":[\#(list)]}"#.utf8))
        guard let keys = JSONWebKeys(document) else { throw WireError.publicKeyRefused }
        return keys
    }

    static func jwk(_ key: PublicKey, id: String?, more: String = "") -> String {
        var members = key.members.map { #""\#($0.name)":"\#($0.value)""# }
        if let id { members.append(#""kid":"\#(id)""#) }
        if !more.isEmpty { members.append(more) }
        return "{\(members.joined(separator: ","))}"
    }
}

/// Keys that are created once, because an RSA key takes up to half a second.
enum TestKeys {
    static let rsa = Result { try SigningKey(for: .rs256) }
    static let curve = Result { try SigningKey(for: .es256) }
    static let otherCurve = Result { try SigningKey(for: .es256) }
}
