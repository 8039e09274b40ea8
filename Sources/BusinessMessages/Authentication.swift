internal import BalloonJSON

/// The result of an authentication request, of either version.
///
/// ```json
/// "data": {"version": "1.0", "authenticate": {"status": "authenticated", "token": "…"}}
/// "data": {"version": "1.0", "authenticate": {"status": "failed",
///          "errors": [{"code": 2, "domain": "…", "message": "…"}]}}
/// "data": {"version": "2.0", "authenticate": {"status": "failure", "error_code": "400"}}
/// ```
/// Apple MSP API, "Authentication Message" and "Authentication Event".
public struct Authentication: Sendable {
    /// The version of the procedure, which decides whether the device or the business fetches the token.
    public enum Version: Sendable {
        /// The device fetched a token and sent it encrypted.
        case one
        /// The business fetched the token itself; the message contains only the result.
        case two
    }

    /// How the authentication request ended.
    public enum Result: String, Sendable {
        /// The customer signed in; Apple wrote `authenticated`, `success` or `completed`.
        case succeeded
        /// Signing in failed; Apple wrote `failed` or `failure`.
        case failed
        /// `cancel`: the customer cancelled.
        case cancelled
        /// `unknown`, or a status that this library does not know.
        case unknown
    }

    /// An error reported by the device; version 1 only.
    public struct Problem: Equatable, Sendable {
        /// The number of the error; its meaning depends on ``domain``.
        public let code: Int?
        /// The domain of the error, which names the part of the device that reports it.
        public let domain: String?
        /// A message for developers.
        public let message: String?
    }

    /// The version of the procedure.
    public let version: Version
    /// The status, as it was sent.
    public let status: String?
    /// The encrypted token in Base64; version 1 only.
    ///
    /// A secret: never log it.
    public let token: String?
    /// The reported errors; version 1 only.
    public let problems: [Problem]
    /// The error code of the identity provider; version 2 only.
    public let errorCode: String?
    /// The fields that all interactive messages have in common.
    public let interaction: Interaction

    init(_ authenticate: JSONValue, _ interaction: Interaction) {
        status = authenticate["status"]?.scalarString
        token = authenticate["token"]?.nonEmptyString
        problems = (authenticate["errors"]?.objects ?? []).map {
            Problem(
                code: $0["code"]?.scalarInt, domain: $0["domain"]?.scalarString,
                message: $0["message"]?.scalarString)
        }
        errorCode = authenticate.first("error_code", "errorCode")?.scalarString
        // Derive the version from the status, because one of Apple's samples of version 2 says version "1.0".
        version =
            switch status?.lowercased() {
            case "authenticated", "failed": .one
            case "success", "failure", "cancel", "completed": .two
            default: token == nil && problems.isEmpty && interaction.version != "1.0" ? .two : .one
            }
        self.interaction = interaction
    }

    /// How the authentication request ended, from its status.
    public var result: Result {
        switch status?.lowercased() {
        case "authenticated", "success", "completed": .succeeded
        case "failed", "failure": .failed
        case "cancel", "cancelled", "canceled": .cancelled
        default: .unknown
        }
    }
}
