import BalloonHTTP
import BalloonWire
import BusinessMessages

/// The reason why a webhook is refused; the sender gets the status, the log the reason.
enum InboundRefusal: Error, Sendable, Equatable {
    /// The header `Authorization: Bearer` is missing: the sender is not Apple, or a proxy drops the header.
    case missingBearer
    /// The request has two `Authorization` fields: a proxy adds the second.
    case repeatedAuthorization
    /// The token is malformed or signed with another secret: check `secret`.
    case badSignature
    /// The token's header is not a JSON object with the algorithm HS256 and without `crit`.
    case badHeader
    /// The token is signed, but not for this server at this time.
    case badClaims(ClaimsFault)
    /// The body has a `Content-Encoding` other than gzip, x-gzip and identity.
    case unknownCoding
    /// The body is encoded more than once, or there are two `Content-Encoding` fields.
    case repeatedCoding
    /// The body is not valid gzip.
    case badGzip
    /// The decompressed body exceeds its limit.
    case inflatedTooLarge
    /// The body is not JSON (RFC 8259).
    case badJSON(reason: String, offset: Int)
    /// The envelope lacks a field, or header and body differ.
    case badEnvelope(EnvelopeError)
    /// No business has this `destination-id`.
    case unknownBusiness
    /// No business has this `destination-id` in the configuration of a server that does not own the store; the owner's may have it.
    case unknownToStandby

    var status: HTTPStatus {
        switch self {
        case .missingBearer, .repeatedAuthorization: .unauthorized
        case .badSignature, .badHeader, .badClaims: .forbidden
        case .unknownCoding: .unsupportedMediaType
        case .repeatedCoding, .badGzip, .badJSON, .badEnvelope: .badRequest
        case .inflatedTooLarge: .contentTooLarge
        case .unknownBusiness: .notFound
        case .unknownToStandby: .serviceUnavailable
        }
    }

    /// The reason for the log: a constant text that quotes nothing from the request except an offset.
    var reason: String {
        switch self {
        case .missingBearer: "no bearer token"
        case .repeatedAuthorization: "there are two Authorization fields"
        case .badHeader: "the token's header lacks alg HS256, or has crit"
        case .badSignature: "the token is malformed, or not signed with the configured secret"
        case .badClaims(let fault): fault.rawValue
        case .unknownCoding: "the body's Content-Encoding is not gzip"
        case .repeatedCoding: "the body has more than one Content-Encoding"
        case .badGzip: "the body is not valid gzip"
        case .inflatedTooLarge: "the body inflates to more than its limit"
        case .badJSON(let reason, let offset): "the body is not JSON: \(reason) at byte \(offset)"
        case .badEnvelope(let error): "the envelope is malformed: \(error.reason)"
        case .unknownBusiness, .unknownToStandby: "no business has this destination-id"
        }
    }

    init(_ error: WireError) {
        switch error {
        case .gzipTooLarge: self = .inflatedTooLarge
        case .gzipMalformed, .gzipTruncated, .gzipTrailingData: self = .badGzip
        case .tokenHeader: self = .badHeader
        case .tokenMalformed, .tokenSignatureMismatch, .base64Malformed, .hexMalformed, .secretEmpty,
            .keyLength, .attachmentKeyPrefix, .publicKeyRefused, .signingKeyRefused, .paymentKeyRefused,
            .sealedTokenRefused,
            .tokenCertificates, .chainRefused, .rootRefused:
            self = .badSignature
        }
    }
}

extension EnvelopeError {
    fileprivate var reason: String {
        switch self {
        case .notAnObject: "the body is not an object"
        case .missing(let field): "it has no \(field.rawValue)"
        case .malformed(let field): "its \(field.rawValue) is not a string of printable characters"
        case .tooLong(let field, let limitBytes): "its \(field.rawValue) has more than \(limitBytes) bytes"
        case .disagreement(let field): "its \(field.rawValue) differs between header and body"
        }
    }
}
