package import BalloonJSON

/// The first wrong claim of a webhook's token; the value is the reason for the log, and quotes nothing from the token.
package enum ClaimsFault: String, Error, Sendable {
    case notJSON = "the token's claims are not JSON"
    case noAudience = "the token has no aud"
    /// Balloon itself makes such tokens.
    case issuer = "the token has iss instead of aud: it is a token for the gateway"
    /// Check `mspID`.
    case otherAudience = "the token is for another MSP"
    case noTime = "the token has no iat, or one that is not a number"
    /// Check this machine's clock, as for the following ones.
    case stale = "the token's iat is outside the window"
    case noNumber = "the token's exp or nbf is not a number"
    case expired = "the token's exp has passed"
    case early = "the token's nbf is in the future"

    /// Returns the first wrong claim; `now` is in seconds since 1970.
    ///
    /// `aud` is the MSP's id, or an array that contains it, and `iat` is close to now (Apple Business Chat API, "Authorizing
    /// Messages"). Apple sends neither `exp` nor `nbf`; a token that has one must satisfy it (RFC 7519 §4.1.4 and §4.1.5).
    package static func first(
        in claims: JSONValue, mspID: String, tokenAge: Duration, now: Int
    ) -> ClaimsFault? {
        guard let audience = claims["aud"] else { return claims["iss"] == nil ? .noAudience : .issuer }
        let isForUs =
            audience.kind == .array
            ? audience.elements.contains { $0.equals(mspID) } : audience.equals(mspID)
        guard isForUs else { return .otherAudience }
        guard let issued = claims["iat"]?.double else { return .noTime }
        guard abs(Double(now) - issued) <= Double(tokenAge.components.seconds) else { return .stale }
        if let expiry = claims["exp"] {
            guard let time = expiry.double else { return .noNumber }
            if time <= Double(now) { return .expired }
        }
        if let start = claims["nbf"] {
            guard let time = start.double else { return .noNumber }
            if time > Double(now) { return .early }
        }
        return nil
    }
}
