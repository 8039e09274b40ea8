import BalloonJSON

/// Checks the claims that the server requires, one by one, so that the report names the wrong one.
struct TokenCheck {
    let mspID: String
    let tokenAge: Duration

    /// The reason why the server would refuse the claims, nil when it would accept them; `now` is in seconds
    /// since 1970.
    func refusal(of claims: JSONValue, now: Int) -> String? {
        guard let audience = claims["aud"] else {
            return claims["iss"] == nil
                ? "the token has no aud" : "the token has iss instead of aud: it is a token for the gateway"
        }
        let names = audience.kind == .array ? audience.elements.compactMap(\.string) : [audience.string ?? ""]
        guard names.contains(mspID) else { return "aud is another MSP's ID" }
        guard let issued = claims["iat"]?.double else { return "the token has no iat" }
        let seconds = Double(now) - issued
        guard abs(seconds) <= tokenAge / .seconds(1) else {
            // A claim may be further away than an integer can say.
            return
                "iat is \(Int(min(abs(seconds), 1e15))) seconds \(seconds > 0 ? "ago" : "ahead"); check the clock"
        }
        for name in ["exp", "nbf"] where claims[name] != nil && claims[name]?.double == nil {
            return "\(name) is not a number"
        }
        if let expiry = claims["exp"]?.double, expiry <= Double(now) { return "the token has expired" }
        if let start = claims["nbf"]?.double, start > Double(now) { return "nbf is in the future" }
        return nil
    }
}
