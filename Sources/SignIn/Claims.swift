import BalloonJSON

/// The members of an id_token that concern the token and not the customer; an identity does not repeat them.
private let protocolClaims: Set<String> = [
    "iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "nonce", "at_hash", "c_hash", "s_hash", "sid",
]

/// The claims about a customer as one JSON object: those of userinfo, then those of the id_token that it lacks.
func mergedClaims(userinfo: JSONValue?, idToken: JSONValue?) -> [UInt8] {
    var names = protocolClaims
    return JSONWriter.object { writer in
        for (name, value) in [userinfo, idToken].compactMap(\.self).flatMap({ Array($0.members) })
        where names.insert(name).inserted {
            writer.field(name, value)
        }
    }
}

/// The customer's identifier: a text, or an integer as its digits; nil for every other value.
func subject(_ value: JSONValue?) -> String? {
    let text = value?.string ?? value?.int.map { String($0) }
    return text.flatMap { $0.isEmpty || $0.utf8.count > 1024 ? nil : $0 }
}
