/// The reason why the server refuses a request without calling a handler.
///
/// The connection closes after the answer, except for ``notFound`` and ``methodNotAllowed`` when the request
/// has no body.
package enum HTTPRefusal: String, Error, Sendable {
    /// The request line is not `method SP target SP version CRLF` (RFC 9112 §3).
    case malformedRequestLine = "the request line is malformed"
    /// The target has a byte that URIs must not contain, or a form that its method does not allow (RFC 9112
    /// §3.2), or a part of it is not UTF-8 after percent-decoding.
    case malformedTarget = "the request target is malformed"
    /// The version begins with `HTTP/`, but is not 1.x (RFC 9110 §15.6.6).
    case unsupportedVersion = "the HTTP version is not 1.x"
    /// The method has a valid form, but this server does not know it (RFC 9110 §15.6.2).
    case unknownMethod = "the method is unknown"
    /// A field line is malformed: white space before the colon, a bad name or value byte, a folded line (RFC 9112 §5).
    case malformedField = "a header field is malformed"
    /// A line ends in a bare LF, or contains a bare CR (RFC 9112 §2.2).
    case malformedLineEnd = "a line does not end with CR LF"
    /// `Host` is missing, repeated or not a host (RFC 9112 §3.2).
    case badHost = "Host is missing, repeated or malformed"
    /// `Content-Length` is repeated, or not a number, or too large (RFC 9112 §6.3).
    case badContentLength = "Content-Length is repeated or malformed"
    /// The request has both `Content-Length` and `Transfer-Encoding`, or is HTTP/1.0 with the latter (RFC
    /// 9112 §6.1).
    case ambiguousFraming = "Content-Length and Transfer-Encoding contradict each other"
    /// The last coding of `Transfer-Encoding` is not `chunked`, or `chunked` occurs twice (RFC 9112 §6.1,
    /// §6.3).
    case badTransferEncoding = "Transfer-Encoding does not end with a single \"chunked\""
    /// `Transfer-Encoding` names a coding besides `chunked` (RFC 9112 §6.1).
    case unknownTransferCoding = "Transfer-Encoding names an unknown coding"
    /// A chunk's size, extension, end or trailer is malformed (RFC 9112 §7.1).
    case malformedChunk = "a chunk of the body is malformed"
    /// `Expect` asks for something other than `100-continue` (RFC 9110 §10.1.1).
    case unknownExpectation = "Expect is not 100-continue"
    /// The request line is longer than its limit.
    case requestLineTooLong = "the request line is too long"
    /// A parameter of the path or query is longer than its limit, or the query has too many (RFC 9110 §15.5.15).
    case parametersTooLong = "the parameters of the path or query are too long or too many"
    /// There are too many field lines, one of them is too long, or all together are (RFC 6585 §5).
    case fieldsTooLarge = "the header fields are too large or too many"
    /// The body exceeds the limit of its route.
    case bodyTooLarge = "the body is too large"
    /// The connections hold the maximum bytes of requests and answers (RFC 9110 §15.6.4); a retry may
    /// succeed.
    case overloaded = "unfinished requests use all memory for requests"
    /// The request did not arrive within its time limit (RFC 9110 §15.5.9).
    case timedOut = "the request did not arrive in time"
    /// No route serves the path (RFC 9110 §15.5.5).
    case notFound = "no route has this path"
    /// The path has routes, but only for other methods (RFC 9110 §15.5.6).
    case methodNotAllowed = "the path does not support the method"
    /// The handler did not answer within its time limit (RFC 9110 §15.6.4): the server is at fault, not the
    /// client.
    case unanswered = "the handler of the request did not answer in time"

    /// The status of the answer.
    package var status: HTTPStatus {
        switch self {
        case .malformedRequestLine, .malformedTarget, .malformedField, .malformedLineEnd, .badHost,
            .badContentLength, .ambiguousFraming, .badTransferEncoding, .malformedChunk:
            .badRequest
        case .unsupportedVersion: .versionNotSupported
        case .unknownMethod, .unknownTransferCoding: .notImplemented
        case .unknownExpectation: .expectationFailed
        case .requestLineTooLong, .parametersTooLong: .uriTooLong
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
    /// The refusal in words, for the log; contains no bytes of the request.
    package var reason: String { rawValue }

    /// The header fields of the answer.
    var fields: [(name: String, value: String)] {
        status == .serviceUnavailable ? [("Retry-After", "5")] : []
    }
}
