public import BusinessMessages

/// The result of a request to sign in, after the server has checked it; see ``Context/signIn``.
///
/// ```json
/// {"result": "signedIn", "issuer": "https://login.example.com", "subject": "24400320", "claims": {"email": "…"}}
/// {"result": "unverified", "claims": {"email": "…"}}
/// {"result": "failed", "code": "401"}
/// ```
/// The results `declined`, `expired` and `unproven` have no further members.
public enum SignInResult: Sendable {
    /// The account of the customer at the identity provider.
    public struct Identity: Sendable {
        /// The issuer of the identity provider; without OpenID Connect, the URL from which its claims are
        /// read.
        public let issuer: String
        /// The customer's identifier at that provider; together with ``issuer`` it names one account.
        public let subject: String
        /// The provider's claims about the customer, a JSON object such as `{"email": "…"}`.
        public let claims: JSONValue
        /// The provider's tokens; nil unless the business's file has `"handTokens": true`.
        public let tokens: Tokens?

        /// Creates an identity, in a server or in a handler's tests.
        public init(issuer: String, subject: String, claims: JSONValue, tokens: Tokens? = nil) {
            self.issuer = issuer
            self.subject = subject
            self.claims = claims
            self.tokens = tokens
        }
    }

    /// The provider's tokens for this customer: secrets, which must never be logged.
    public struct Tokens: Hashable, Sendable {
        /// The bearer token for the provider's interfaces.
        public let access: String
        /// The token with which to request a new access token.
        public let refresh: String?
        /// The provider's ID token, a signed statement about the customer (OpenID Connect Core §2).
        public let id: String?
        /// The life of the access token in seconds.
        public let expiresInSeconds: Int?

        /// Creates tokens, in a server or in a handler's tests.
        public init(
            access: String, refresh: String? = nil, id: String? = nil, expiresInSeconds: Int? = nil
        ) {
            self.access = access
            self.refresh = refresh
            self.id = id
            self.expiresInSeconds = expiresInSeconds
        }
    }

    /// The provider identified the customer, and the account that finished the sign-in is the one that got
    /// the request.
    case signedIn(Identity)
    /// The provider accepted the device's token, but may have issued the token to another program.
    ///
    /// This is the result of version 1 without introspection. The claims are a JSON object: treat them as the
    /// customer's own statement.
    case unverified(claims: JSONValue)
    /// The customer declined, or closed the window.
    case declined
    /// The sign-in failed; the code is that of the server or of the device, such as `401`.
    case failed(code: String)
    /// The event arrived too late, or the delivery took longer than 24 hours.
    case expired
    /// The device reports success, but the server has checked no sign-in: treat the customer as unknown.
    case unproven

    /// The name of the result in JSON.
    public var name: String {
        switch self {
        case .signedIn: "signedIn"
        case .unverified: "unverified"
        case .declined: "declined"
        case .failed: "failed"
        case .expired: "expired"
        case .unproven: "unproven"
        }
    }

    /// Parses a result in the form of ``json``; nil when `value` has another form.
    package init?(_ value: JSONValue) {
        switch value["result"]?.string {
        case "signedIn":
            guard let issuer = value["issuer"]?.string, let subject = value["subject"]?.string,
                let claims = value["claims"], claims.kind == .object
            else { return nil }
            self = .signedIn(
                Identity(
                    issuer: issuer, subject: subject, claims: claims,
                    tokens: value["tokens"].flatMap(Tokens.init)))
        case "unverified":
            guard let claims = value["claims"], claims.kind == .object else { return nil }
            self = .unverified(claims: claims)
        case "declined": self = .declined
        case "failed": self = .failed(code: value["code"]?.string ?? "unknown")
        case "expired": self = .expired
        case "unproven": self = .unproven
        default: return nil
        }
    }

    /// The result in the form that handlers outside the process receive.
    package var json: [UInt8] {
        switch self {
        case .signedIn(let identity):
            JSONWriter.object([
                "result": name, "issuer": identity.issuer, "subject": identity.subject,
                "claims": identity.claims, "tokens": identity.tokens.map(\.json),
            ])
        case .unverified(let claims): JSONWriter.object(["result": name, "claims": claims])
        case .failed(let code): JSONWriter.object(["result": name, "code": code])
        case .declined, .expired, .unproven: JSONWriter.object(["result": name])
        }
    }
}

extension SignInResult.Tokens {
    fileprivate var json: JSONObject {
        ["access": access, "refresh": refresh, "id": id, "expiresInSeconds": expiresInSeconds]
    }

    fileprivate init?(_ value: JSONValue) {
        guard let access = value["access"]?.string else { return nil }
        self.init(
            access: access, refresh: value["refresh"]?.string, id: value["id"]?.string,
            expiresInSeconds: value["expiresInSeconds"]?.int)
    }
}

extension SignInResult.Tokens: CustomStringConvertible {
    /// A mask that shows neither the tokens nor their length.
    public var description: String { "********" }
}
