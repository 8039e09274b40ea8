import BalloonHTTP
import BalloonWire
import RetentionMessages

/// The reason why a question of the App Store is refused; contains no text of the request.
enum RetentionRefusal: Error, Equatable {
    /// The body is not a JSON object with a single string `signedPayload`.
    case body
    /// The string is not three parts of Base64url.
    case token
    /// The token's header has another algorithm, has `crit`, or does not have three certificates.
    case header(WireError)
    /// The claims do not have the form of a question.
    case claims(RetentionRequest.Defect)
    /// The environment in the question differs from that of the path.
    case environment
    /// The question is about another app.
    case app
    /// The question was signed more than five minutes before or after now.
    case date
    /// The certificates do not lead to the configured root.
    case chain(CertificateDefect)
    /// The signature does not match the key of the leaf certificate.
    case signature
    /// No app has this slug.
    case unknownApp
    /// Too many signatures wait to be verified.
    case queueFull
    /// Too many unknown chains arrived in this second.
    case tooManyChains
    /// The offer could not be signed, because memory is exhausted.
    case offer

    var status: HTTPStatus {
        switch self {
        case .body, .token: .badRequest
        case .claims(.member(.environment)): .forbidden
        case .claims: .badRequest
        case .header, .environment, .app, .date, .chain, .signature: .forbidden
        case .unknownApp: .notFound
        case .queueFull, .tooManyChains, .offer: .serviceUnavailable
        }
    }

    /// The reason for the log.
    var reason: String {
        switch self {
        case .body: "the body is no JSON object with a signedPayload"
        case .token: "the signedPayload is not three parts of Base64url"
        case .header(.tokenCertificates): "the token's x5c is not three certificates"
        case .header: "the token's algorithm is not ES256, or its header has crit"
        case .claims(.notAnObject): "the claims are no JSON object"
        case .claims(.member(let member)): "the claim \(member.rawValue) is missing or malformed"
        case .environment: "the question is for the other environment"
        case .app: "the question is about another app"
        case .date: "the question was signed more than five minutes before or after now"
        case .chain(let defect): "the chain is refused: \(defect.rawValue)"
        case .signature: "the signature is not the leaf's"
        case .unknownApp: "no app has this name"
        case .queueFull: "too many signatures wait to be verified"
        case .tooManyChains: "too many unknown chains arrived in this second"
        case .offer: "the offer could not be signed"
        }
    }
}
