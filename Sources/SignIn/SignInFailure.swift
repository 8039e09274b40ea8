package import BalloonTransport

/// The reason why a sign-in has no identity; it contains no text from the network, so it may be logged.
package enum SignInFailure: Error, Sendable, Equatable {
    /// The callback is malformed: the customer must begin again.
    case callbackMalformed(CallbackDefect)
    /// The callback names another provider (RFC 9207): a mix-up attack, or a wrong `issuer` in the configuration.
    case callbackIssuer(isMissing: Bool)
    /// The business's own parameters are not a query, or contain a parameter of the protocol.
    case parametersRefused
    /// The request has neither a challenge (PKCE) nor a nonce, because its scope has no `openid`.
    case unprotected
    /// The customer declined, or the provider declined for the customer (`access_denied`).
    case denied
    /// The provider answered with an error; the code is nil when no standard defines it.
    case providerError(ProviderCall?, ProviderErrorCode?)
    /// The provider refused the code (`invalid_grant`).
    ///
    /// The code was used before or has expired, or the provider does not support the challenge.
    case grantRefused(usesPKCE: Bool)
    /// An answer of the provider cannot be used.
    case answerRefused(ProviderCall, AnswerDefect)
    /// The provider's configuration or discovery has no usable address for a call.
    case addressMissing(ProviderCall)
    /// The provider could not be reached.
    case unreachable(ProviderCall, TransportError)
    /// The deadline passed before the provider answered a call.
    case late(ProviderCall)
    /// A rule of the id_token is broken.
    case idTokenRefused(IDTokenRefusal)
    /// Userinfo or introspection describes another person than the token does.
    case subjectDiffers(ProviderCall)
    /// A token of version 1 cannot be decrypted, is not for our client, or is no longer valid.
    case classicTokenRefused
    /// Too many jobs wait for the threads for public-key operations.
    case overloaded
    /// The server is stopping.
    case stopping

    /// The code that the customer's device gets as `error_code`.
    package var code: Int {
        switch self {
        case .callbackMalformed, .callbackIssuer, .parametersRefused, .unprotected: 400
        case .idTokenRefused(.encrypted): 502
        case .idTokenRefused, .subjectDiffers, .classicTokenRefused: 401
        case .denied: 403
        case .providerError, .grantRefused, .answerRefused, .addressMissing, .unreachable: 502
        case .overloaded, .stopping: 503
        case .late: 504
        }
    }

    /// The setting of `authentication` that the provider may not support; the log names the setting and
    /// counts such failures.
    package var suspectedSwitch: ProviderSwitch? {
        switch self {
        case .grantRefused(usesPKCE: true): .pkce
        case .idTokenRefused(.nonceMissing): .nonce
        default: nil
        }
    }

    /// The failure in words, for the log.
    package var reason: String {
        switch self {
        case .callbackMalformed(let defect): "the callback is malformed: \(defect.rawValue)"
        case .callbackIssuer(isMissing: true):
            "the callback has no iss, which discovery or authorizationResponseIss announces"
        case .callbackIssuer(isMissing: false): "the callback's iss is another provider"
        case .parametersRefused: "additionalParameters is no query, or has a parameter of the protocol"
        case .unprotected:
            "without PKCE a request needs the scope openid for its nonce; add openid, or set authentication.pkce to true"
        case .denied: "the provider answered access_denied"
        case .providerError(let call, let code):
            "the provider answered \(code?.rawValue ?? "an unknown error")"
                + (call.map { " (\($0.rawValue))" } ?? "")
        case .grantRefused(usesPKCE: true):
            "the provider answered invalid_grant; if it does not support S256, set authentication.pkce to false"
        case .grantRefused(usesPKCE: false): "the provider answered invalid_grant"
        case .answerRefused(let call, let defect):
            "the answer is refused (\(call.rawValue)): \(defect.reason)"
        case .addressMissing(let call): "the provider has no usable address (\(call.rawValue))"
        case .unreachable(let call, let error): "the call failed (\(call.rawValue)): \(error.reason)"
        case .late(let call): "the provider did not answer in time (\(call.rawValue))"
        case .idTokenRefused(.nonceMissing):
            "the id_token has no nonce; if the provider does not support it, set authentication.nonce to false"
        case .idTokenRefused(let refusal): "the id_token is refused: \(refusal.rawValue)"
        case .subjectDiffers(let call): "the answer is about another person (\(call.rawValue))"
        case .classicTokenRefused: "the token of version 1 is refused"
        case .overloaded: "too many operations wait for the public-key threads"
        case .stopping: "the server stops"
        }
    }
}

/// A setting of a provider that the configuration can switch off.
package enum ProviderSwitch: String, Sendable, CaseIterable {
    /// `authentication.pkce`.
    case pkce
    /// `authentication.nonce`.
    case nonce
}

/// A call to a provider; the raw value is its name in the log.
package enum ProviderCall: String, Sendable, CaseIterable {
    case discovery
    case keys
    case token
    case userinfo
    case introspection

    /// The time limit of the call.
    var limit: Duration { self == .token ? .seconds(10) : .seconds(5) }
}

/// The reason why a callback is malformed.
package enum CallbackDefect: String, Error, Sendable, CaseIterable {
    case tooLong = "it is too long"
    case tooManyParameters = "it has too many parameters"
    case malformedEncoding = "its encoding is malformed"
    case controlCharacter = "it contains a control character"
    case repeatedParameter = "a parameter is repeated"
    case codeAndError = "it has both code and error"
    case neitherCodeNorError = "it has neither code nor error"
    case missingState = "it has no state"
}

/// The reason why a provider's answer cannot be used.
package enum AnswerDefect: Sendable, Equatable {
    /// The status of the answer is not 200.
    case status(Int)
    /// The answer is a redirect, which is not followed.
    case redirect
    /// The answer is not JSON, for example an HTML page, or ends too early.
    case notJSON
    /// The answer has more than ``SignInClient/maximumAnswerBytes``.
    case tooLarge
    /// The answer lacks a member, or the member has another type.
    case missing(AnswerMember)
    /// The issuer in the discovery document differs from the configured issuer.
    case issuerDiffers
    /// The token is not of the type `Bearer`.
    case tokenType
    /// The answer of userinfo is signed or encrypted, which is not supported.
    case signed

    var reason: String {
        switch self {
        case .status(let status): "its status is \(status)"
        case .redirect: "it is a redirect"
        case .notJSON: "it is no JSON object"
        case .tooLarge: "it is larger than 1 MiB"
        case .missing(let member): "it has no usable \(member.rawValue)"
        case .issuerDiffers: "its issuer differs from authentication.issuer"
        case .tokenType: "its token_type is not Bearer"
        case .signed: "it is signed or encrypted"
        }
    }
}

/// A required member of a provider's answer.
package enum AnswerMember: String, Sendable {
    case accessToken = "access_token"
    case idToken = "id_token"
    case keys
    case subject = "subject claim"
}

/// An error code of RFC 6749 §4.1.2.1 and §5.2, or OpenID Connect Core §3.1.2.6.
package enum ProviderErrorCode: String, Sendable, CaseIterable {
    case accessDenied = "access_denied"
    case accountSelectionRequired = "account_selection_required"
    case consentRequired = "consent_required"
    case interactionRequired = "interaction_required"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case invalidRequest = "invalid_request"
    case invalidRequestObject = "invalid_request_object"
    case invalidRequestURI = "invalid_request_uri"
    case invalidScope = "invalid_scope"
    case loginRequired = "login_required"
    case registrationNotSupported = "registration_not_supported"
    case requestNotSupported = "request_not_supported"
    case requestURINotSupported = "request_uri_not_supported"
    case serverError = "server_error"
    case temporarilyUnavailable = "temporarily_unavailable"
    case unauthorizedClient = "unauthorized_client"
    case unsupportedGrantType = "unsupported_grant_type"
    case unsupportedResponseType = "unsupported_response_type"
}
