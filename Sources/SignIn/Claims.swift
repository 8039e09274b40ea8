import BalloonJSON

/// The claims that concern a token instead of the customer; an identity does not contain them.
private let protocolClaims: Set<String> = [
    "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash", "sid",
]

/// Merges the claims about a customer into one JSON object; when both sources have a claim, userinfo's value
/// is used.
func mergedClaims(userinfo: JSONValue?, idToken: JSONValue?) -> [UInt8] {
    var names = protocolClaims
    return JSONWriter.object { writer in
        for (name, value) in [userinfo, idToken].compactMap(\.self).flatMap({ Array($0.members) })
        where names.insert(name).inserted {
            writer.field(name, value)
        }
    }
}

/// Reads the customer's identifier: a text, or an integer as its digits, of 1 to 1,024 bytes; nil for any
/// other value.
func subject(_ value: JSONValue?) -> String? {
    let text = value?.string ?? value?.int.map { String($0) }
    return text.flatMap { $0.isEmpty || $0.utf8.count > 1024 ? nil : $0 }
}
