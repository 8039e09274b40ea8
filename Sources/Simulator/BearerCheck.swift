import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire

/// Checks the bearer token of an MSP like Apple does; each shard has its own instance.
struct BearerCheck {
    private static let maximumAgeSeconds = 3600

    private let mspID: String
    private let verifier: TokenVerifier

    init(mspID: String, secret: Secret) {
        self.mspID = mspID
        verifier = TokenVerifier(secret: secret)
    }

    /// Returns the answer to an unauthorized request: 401 without a bearer token, 403 with an invalid one.
    ///
    /// Returns nil for an authorized request.
    func refusal(of request: HTTPRequest) -> HTTPResponse? {
        let prefix = "Bearer "
        guard let field = request.text("authorization"), field.hasPrefix(prefix) else {
            return HTTPResponse(.unauthorized, text: "401 Unauthorized : no bearer\n")
        }
        guard isValid(token: field.dropFirst(prefix.count), now: SystemClock.secondsSince1970()) else {
            return HTTPResponse(.forbidden, text: "403 Forbidden : bad token\n")
        }
        return nil
    }

    private func isValid(token: Substring, now: Int) -> Bool {
        // As with Apple, the sender learns that the token is bad, but not the reason.
        guard let claims = try? verifier.verify(token.utf8), let root = (try? JSONDocument(claims))?.root,
            root["iss"]?.string == mspID, let issuedAt = root["iat"]?.int
        else { return false }
        // Compare with a range: `now - issuedAt` may overflow, because the claim can be any number.
        return (now - Self.maximumAgeSeconds...now + Self.maximumAgeSeconds).contains(issuedAt)
    }
}
