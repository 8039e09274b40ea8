import BalloonJSON

/// The SHA-256 in the field `Content-Digest` (RFC 9530 §2).
enum ContentDigest {
    /// The digest of a request's content; nil when the field is absent or has digests of other algorithms only.
    ///
    /// The field is a dictionary (RFC 9651 §3.2) such as `sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:`.
    static func sha256(_ field: String?) throws(APIProblem) -> [UInt8]? {
        guard let field else { return nil }
        var digest: [UInt8]?
        for member in field.split(separator: ",", omittingEmptySubsequences: false) {
            let text = member.drop { $0 == " " || $0 == "\t" }
            guard let equals = text.firstIndex(of: "=") else { throw malformed }
            guard text[..<equals] == "sha-256" else { continue }
            let value = String(text[text.index(after: equals)...].reversed().drop { $0 == " " }.reversed())
            guard value.utf8.count >= 2, value.hasPrefix(":"), value.hasSuffix(":"),
                let bytes = Base64.decode(value.dropFirst().dropLast().utf8), bytes.count == 32
            else { throw malformed }
            digest = bytes
        }
        return digest
    }

    private static var malformed: APIProblem {
        APIProblem(
            .badRequest,
            "Content-Digest must be a list of digests such as sha-256=:…: with Base64 between the colons")
    }
}
