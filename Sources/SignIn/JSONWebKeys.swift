package import BalloonJSON
import BalloonWire

/// A provider's public keys (RFC 7517 §5), as far as they can verify an id_token.
package struct JSONWebKeys: Sendable {
    struct Entry: Sendable {
        let identifier: String?
        /// The key; nil when its type, size or use is not supported.
        let key: PublicKey?
    }

    let entries: [Entry]

    /// The maximum number of keys that are read; further ones are ignored.
    package static let maximumCount = 100

    /// Reads a document; nil when it has no array `keys`.
    package init?(_ document: JSONDocument) {
        guard let keys = document.root["keys"], keys.kind == .array else { return nil }
        entries = keys.elements.prefix(Self.maximumCount).map { key in
            Entry(identifier: key["kid"]?.string, key: Self.key(key))
        }
    }

    private static func key(_ key: JSONValue) -> PublicKey? {
        guard isForSignatures(key), let result = publicKey(key) else { return nil }
        // RFC 7517 §4.4: a key that names an algorithm is used with this algorithm only.
        guard let algorithm = key["alg"] else { return result }
        return algorithm.equals(result.algorithm.rawValue) ? result : nil
    }

    private static func isForSignatures(_ key: JSONValue) -> Bool {
        if let use = key["use"], !use.equals("sig") { return false }
        guard let operations = key["key_ops"] else { return true }
        return operations.elements.contains { $0.equals("verify") }
    }

    private static func publicKey(_ key: JSONValue) -> PublicKey? {
        // Treat a malformed key as unusable; a token that names the key is then refused.
        switch key["kty"]?.string {
        case "RSA":
            guard let modulus = bytes(key["n"]), let exponent = bytes(key["e"]) else { return nil }
            return try? PublicKey(modulus: modulus, exponent: exponent)
        case "EC":
            guard key["crv"]?.equals("P-256") == true, let x = bytes(key["x"]), let y = bytes(key["y"]) else {
                return nil
            }
            return try? PublicKey(x: x, y: y)
        default: return nil
        }
    }

    private static func bytes(_ value: JSONValue?) -> [UInt8]? {
        value?.string.flatMap { Base64.decode($0, alphabet: .url) }
    }

    /// The key that verifies a token: the key with this identifier, or the only key for the algorithm without
    /// one.
    func key(for identifier: String?, _ algorithm: SignatureAlgorithm) throws(IDTokenRefusal) -> PublicKey {
        let candidates = entries.filter { identifier == nil || $0.identifier == identifier }
        let fitting = candidates.compactMap(\.key).filter { $0.algorithm == algorithm }
        guard let key = fitting.first else {
            throw candidates.isEmpty || identifier == nil ? .unknownKey : .keyRefused
        }
        guard fitting.count == 1 else { throw .ambiguousKey }
        return key
    }
}
