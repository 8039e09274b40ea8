/// Why a request is refused without a handler's word; the connection is closed after the answer, unless the request was
/// well formed and only its path or method is not served.
package enum HTTPRefusal: Error, Sendable, Hashable {
    /// The request line is not `method SP target SP version CRLF` (RFC 9112 §3).
    case malformedRequestLine
    /// The target has a byte that no URI may contain, or a form that its method does not take (RFC 9112 §3.2).
    case malformedTarget
    /// The version is `HTTP/` something, but not 1.x (RFC 9110 §15.6.6).
    case unsupportedVersion
    /// The method is well formed and unknown (RFC 9110 §15.6.2).
    case unknownMethod
    /// A field line is malformed: white space before the colon, a bad name or value byte, a folded line (RFC 9112 §5).
    case malformedField
    /// A line ends in a bare LF, or holds a bare CR (RFC 9112 §2.2).
    case malformedLineEnd
    /// `Host` is missing, repeated or not a host (RFC 9112 §3.2).
    case badHost
    /// `Content-Length` is repeated, or not digits only, or too large to count (RFC 9112 §6.3).
    case badContentLength
    /// `Content-Length` and `Transfer-Encoding` together, or a coding in HTTP/1.0 (RFC 9112 §6.1).
    case ambiguousFraming
    /// `Transfer-Encoding` whose last coding is not `chunked`, or that has it twice (RFC 9112 §6.1, §6.3).
    case badTransferEncoding
    /// A transfer coding besides `chunked` (RFC 9112 §6.1).
    case unknownTransferCoding
    /// A chunk's size, extension, end or trailer is malformed (RFC 9112 §7.1).
    case malformedChunk
    /// `Expect` asks for something other than `100-continue` (RFC 9110 §10.1.1).
    case unknownExpectation
    /// A method that brings content came without its length (RFC 9110 §15.5.12).
    case lengthMissing
    /// The request line is longer than its limit.
    case requestLineTooLong
    /// The field lines are too many, or one or all of them are longer than their limit (RFC 6585 §5).
    case fieldsTooLarge
    /// The body is longer than the route takes.
    case bodyTooLarge
    /// All requests together hold as much memory as they may (RFC 9110 §15.6.4); a moment later there may be room.
    case overloaded
    /// The request did not arrive in its time (RFC 9110 §15.5.9).
    case timedOut
    /// Nothing is served at the path (RFC 9110 §15.5.5).
    case notFound
    /// The path takes other methods (RFC 9110 §15.5.6).
    case methodNotAllowed
    /// The handler has not answered in its time (RFC 9110 §15.6.4): its fault, not the client's.
    case unanswered

    /// The status that the client is told.
    package var status: HTTPStatus {
        switch self {
        case .malformedRequestLine, .malformedTarget, .malformedField, .malformedLineEnd, .badHost,
            .badContentLength, .ambiguousFraming, .badTransferEncoding, .malformedChunk:
            .badRequest
        case .unsupportedVersion: .versionNotSupported
        case .unknownMethod, .unknownTransferCoding: .notImplemented
        case .unknownExpectation: .expectationFailed
        case .lengthMissing: .lengthRequired
        case .requestLineTooLong: .uriTooLong
        case .fieldsTooLarge: .headerFieldsTooLarge
        case .bodyTooLarge: .contentTooLarge
        case .overloaded, .unanswered: .serviceUnavailable
        case .timedOut: .requestTimeout
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        }
    }
}

extension HTTPRefusal {
    /// The fields of the answer.
    var fields: [(name: String, value: String)] {
        status == .serviceUnavailable ? [("Retry-After", "5")] : []
    }
}
