import BalloonHTTP
import BalloonJSON

/// The reason why an operation of the business API failed, as `application/problem+json` (RFC 9457).
///
/// ```json
/// {
///   "type": "/documentation/messageserver/businessapi#bad-cursor",
///   "title": "The cursor is altered, or belongs to another list", "status": 400,
///   "detail": "…", "reference": "52fdfc072182654f"
/// }
/// ```
///
/// The log line about the failure has the same `reference`. A problem with the body has `pointer`, `line` and
/// `column`; a problem with the query or path has `parameter`.
struct APIProblem: Error, Sendable {
    /// One kind of problems.
    struct Kind: Sendable, Equatable {
        /// The heading in the manual's page.
        let rawValue: String
        let status: HTTPStatus
        /// The problem in one line, the same for every occurrence (RFC 9457 §3.1.3).
        let title: String

        fileprivate init(_ rawValue: String, _ status: HTTPStatus, _ title: String) {
            (self.rawValue, self.status, self.title) = (rawValue, status, title)
        }
    }

    /// A place in the body of a request.
    struct Place: Sendable {
        /// A JSON Pointer (RFC 6901).
        let pointer: String
        let line: Int
        let column: Int
    }

    let kind: Kind
    /// A sentence about this occurrence; never text of a customer.
    var detail: String?
    /// The underlying error; it is logged and never sent, because it may name a path in the data directory.
    var cause: String?
    /// The name of the invalid or missing parameter of the path, query or header.
    var parameter: String?
    var place: Place?
    /// Further header fields of the answer.
    var fields: [(name: String, value: String)] = []
    /// The HTTP status of the answer: that of `kind`, or that of a refusal by the HTTP server itself.
    var status: HTTPStatus
    /// Further members of the JSON object, such as the person who has a conversation; each has one JSON value.
    var members: [(name: String, json: [UInt8])] = []

    /// With `retryAfter`, the answer tells the caller to wait that many seconds.
    init(_ kind: Kind, _ detail: String? = nil, parameter: String? = nil, retryAfter: Int? = nil) {
        self.kind = kind
        status = kind.status
        self.detail = detail
        self.parameter = parameter
        if let retryAfter { fields = [("Retry-After", "\(retryAfter)")] }
    }

    /// A problem with a value of the request's body.
    init(_ kind: Kind, _ detail: String? = nil, at value: JSONValue) {
        self.init(kind, detail)
        let (line, column) = value.position
        place = Place(pointer: value.pointer, line: line, column: column)
    }

    /// Returns this problem with one more header field in its answer.
    func field(_ name: String, _ value: String) -> APIProblem {
        var problem = self
        problem.fields.append((name, value))
        return problem
    }

    /// Returns this problem with one more member in its JSON object; `json` is the member's value.
    func member(_ name: String, _ json: [UInt8]) -> APIProblem {
        var problem = self
        problem.members.append((name, json))
        return problem
    }

    /// The path of the manual's page with one heading for each kind.
    static let manualPath = "/documentation/messageserver/businessapi"

    /// The JSON body of the answer; the log line about the failure has the same `reference`.
    func json(reference: String) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 256) { writer in
            writer.fields([
                "type": "\(Self.manualPath)#\(kind.rawValue)", "title": kind.title, "status": status.code,
                "detail": detail, "parameter": parameter,
            ])
            if let place {
                writer.fields(["pointer": place.pointer, "line": place.line, "column": place.column])
            }
            for member in members {
                writer.key(member.name)
                writer.raw(member.json)
            }
            writer.field("reference", reference)
        }
    }

    static let mediaType = "application/problem+json"
}

extension APIProblem.Kind {
    static let badRequest = Self("bad-request", .badRequest, "The request is malformed")
    static let unknownParameter = Self(
        "unknown-parameter", .badRequest, "The operation has no such parameter")
    static let badParameter = Self("bad-parameter", .badRequest, "The value of a parameter is invalid")
    static let badJSON = Self("bad-json", .badRequest, "The body is not a JSON object")
    static let unknownMember = Self("unknown-member", .badRequest, "The body has an unknown member")
    static let badMember = Self("bad-member", .badRequest, "The value of a member is missing or invalid")
    static let badCursor = Self(
        "bad-cursor", .badRequest, "The cursor is altered, or belongs to another list")
    static let unauthenticated = Self("unauthenticated", .unauthorized, "The request has no valid token")
    static let rightMissing = Self(
        "right-missing", .forbidden, "The token does not have the right for this operation")
    static let otherPerson = Self("other-person", .forbidden, "The token acts for another person")
    static let notFound = Self("not-found", .notFound, "The resource does not exist")
    static let methodNotAllowed = Self(
        "method-not-allowed", .methodNotAllowed, "The resource does not support the method")
    static let notAcceptable = Self(
        "not-acceptable", .notAcceptable, "The operation has no answer of an accepted media type")
    static let conflict = Self(
        "conflict", .conflict, "The state of the resource does not allow the operation")
    static let closed = Self("closed", .conflict, "The customer has closed the conversation")
    static let noConsent = Self(
        "no-consent", .conflict, "The customer has not agreed to the message")
    static let claimed = Self("claimed", .conflict, "Another person has the conversation")
    static let changed = Self("changed", .preconditionFailed, "The resource has changed")
    static let tooLarge = Self("too-large", .contentTooLarge, "The request is too large")
    static let unsupportedMediaType = Self(
        "unsupported-media-type", .unsupportedMediaType, "The body has an unsupported media type")
    static let rangeNotSatisfiable = Self(
        "range-not-satisfiable", .rangeNotSatisfiable, "The range is outside the resource")
    static let misdirected = Self("misdirected", .misdirectedRequest, "Host does not name this listener")
    static let unprocessable = Self(
        "unprocessable", .unprocessableContent, "The content of the request is refused")
    static let notShowable = Self(
        "not-showable", .unprocessableContent, "The customer's device cannot show the message")
    static let keyReused = Self(
        "key-reused", .unprocessableContent, "An earlier request with the key had another body")
    static let digestMismatch = Self(
        "digest-mismatch", .badRequest, "The content has another digest than Content-Digest")
    static let tooManyRequests = Self("too-many-requests", .tooManyRequests, "There were too many requests")
    static let tooManyFailures = Self(
        "too-many-failures", .tooManyRequests, "The address has sent too many invalid tokens")
    static let internalError = Self("internal-error", .internalServerError, "The server failed")
    static let unavailable = Self(
        "unavailable", .serviceUnavailable, "The server cannot answer at the moment")
    static let indexLoading = Self(
        "index-loading", .serviceUnavailable, "The index of conversations is being read")
}

extension HTTPRefusal {
    /// The problem that answers a request which the HTTP server refused while reading it.
    var problem: APIProblem {
        let kind: APIProblem.Kind =
            switch self {
            case .notFound: .notFound
            case .methodNotAllowed: .methodNotAllowed
            case .bodyTooLarge, .fieldsTooLarge, .requestLineTooLong, .parametersTooLong: .tooLarge
            case .overloaded, .unanswered: .unavailable
            case .malformedRequestLine, .malformedTarget, .unsupportedVersion, .unknownMethod,
                .malformedField,
                .malformedLineEnd, .badHost, .badContentLength, .ambiguousFraming, .badTransferEncoding,
                .unknownTransferCoding, .malformedChunk, .unknownExpectation, .timedOut:
                .badRequest
            }
        var problem = APIProblem(kind, reason)
        problem.status = status
        return problem
    }
}
