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
struct APIProblem: Error, Sendable, Equatable {
    /// The kinds of problems; the raw value is the heading in the manual's page.
    enum Kind: String, Sendable, CaseIterable {
        case badRequest = "bad-request"
        case unknownParameter = "unknown-parameter"
        case badParameter = "bad-parameter"
        case badJSON = "bad-json"
        case unknownMember = "unknown-member"
        case badMember = "bad-member"
        case badCursor = "bad-cursor"
        case unauthenticated
        case rightMissing = "right-missing"
        case notFound = "not-found"
        case methodNotAllowed = "method-not-allowed"
        case notAcceptable = "not-acceptable"
        case conflict
        case closed
        case claimed
        case changed
        case tooLarge = "too-large"
        case unsupportedMediaType = "unsupported-media-type"
        case rangeNotSatisfiable = "range-not-satisfiable"
        case misdirected
        case unprocessable
        case notShowable = "not-showable"
        case keyReused = "key-reused"
        case digestMismatch = "digest-mismatch"
        case tooManyRequests = "too-many-requests"
        case tooManyFailures = "too-many-failures"
        case internalError = "internal-error"
        case unavailable
        case indexLoading = "index-loading"
    }

    /// A place in the body of a request.
    struct Place: Sendable, Equatable {
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
    var fields: [Field] = []
    /// The HTTP status of the answer: that of `kind`, or that of a refusal by the HTTP server itself.
    var status: HTTPStatus
    /// Further members of the JSON object, such as the person who has a conversation.
    var members: [Member] = []

    struct Field: Sendable, Equatable {
        let name: String
        let value: String
    }

    struct Member: Sendable, Equatable {
        let name: String
        /// One JSON value.
        let json: [UInt8]
    }

    init(_ kind: Kind, _ detail: String? = nil, parameter: String? = nil) {
        self.kind = kind
        status = kind.status
        self.detail = detail
        self.parameter = parameter
    }

    /// A problem with a value of the request's body.
    init(_ kind: Kind, _ detail: String? = nil, at value: JSONValue) {
        self.kind = kind
        status = kind.status
        self.detail = detail
        let (line, column) = value.position
        place = Place(pointer: value.pointer, line: line, column: column)
    }

    /// Returns this problem with one more header field in its answer.
    func field(_ name: String, _ value: String) -> APIProblem {
        var problem = self
        problem.fields.append(Field(name: name, value: value))
        return problem
    }

    /// Returns this problem with one more member in its JSON object; `json` is the member's value.
    func member(_ name: String, _ json: [UInt8]) -> APIProblem {
        var problem = self
        problem.members.append(Member(name: name, json: json))
        return problem
    }

    /// The path of the manual's page with one heading for each kind.
    static let manualPath = "/documentation/messageserver/businessapi"

    /// The JSON body of the answer; the log line about the failure has the same `reference`.
    func json(reference: String) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 256) { writer in
            writer.field("type", "\(Self.manualPath)#\(kind.rawValue)")
            writer.field("title", kind.title)
            writer.field("status", status.code)
            writer.field("detail", detail)
            writer.field("parameter", parameter)
            if let place {
                writer.field("pointer", place.pointer)
                writer.field("line", place.line)
                writer.field("column", place.column)
            }
            for member in members {
                writer.key(member.name)
                writer.raw(member.json)
            }
            writer.field("reference", reference)
        }
    }

    /// Returns the complete answer, whose body is the result of `json(reference:)`.
    func answer(reference: String) -> APIAnswer {
        APIAnswer(
            status, contentType: Self.mediaType, body: json(reference: reference),
            fields: fields.map { ($0.name, $0.value) })
    }

    static let mediaType = "application/problem+json"
}

extension APIProblem.Kind {
    var status: HTTPStatus {
        switch self {
        case .badRequest, .unknownParameter, .badParameter, .badJSON, .unknownMember, .badMember, .badCursor,
            .digestMismatch:
            .badRequest
        case .unauthenticated: .unauthorized
        case .rightMissing: .forbidden
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .notAcceptable: .notAcceptable
        case .conflict, .closed, .claimed: .conflict
        case .changed: .preconditionFailed
        case .tooLarge: .contentTooLarge
        case .unsupportedMediaType: .unsupportedMediaType
        case .rangeNotSatisfiable: .rangeNotSatisfiable
        case .misdirected: .misdirectedRequest
        case .unprocessable, .notShowable, .keyReused: .unprocessableContent
        case .tooManyRequests, .tooManyFailures: .tooManyRequests
        case .internalError: .internalServerError
        case .unavailable, .indexLoading: .serviceUnavailable
        }
    }

    /// The problem in one line, the same for every occurrence (RFC 9457 §3.1.3).
    var title: String {
        switch self {
        case .badRequest: "The request is malformed"
        case .unknownParameter: "The operation has no such parameter"
        case .badParameter: "The value of a parameter is invalid"
        case .badJSON: "The body is not a JSON object"
        case .unknownMember: "The body has an unknown member"
        case .badMember: "The value of a member is missing or invalid"
        case .badCursor: "The cursor is altered, or belongs to another list"
        case .unauthenticated: "The request has no valid token"
        case .rightMissing: "The token does not have the right for this operation"
        case .notFound: "The resource does not exist"
        case .methodNotAllowed: "The resource does not support the method"
        case .notAcceptable: "The operation has no answer of an accepted media type"
        case .conflict: "The state of the resource does not allow the operation"
        case .closed: "The customer has closed the conversation"
        case .claimed: "Another person has the conversation"
        case .changed: "The resource has changed"
        case .tooLarge: "The request is too large"
        case .unsupportedMediaType: "The body has an unsupported media type"
        case .rangeNotSatisfiable: "The range is outside the resource"
        case .misdirected: "Host does not name this listener"
        case .unprocessable: "The content of the request is refused"
        case .notShowable: "The customer's device cannot show the message"
        case .keyReused: "An earlier request with the key had another body"
        case .digestMismatch: "The content has another digest than Content-Digest"
        case .tooManyRequests: "There were too many requests"
        case .tooManyFailures: "The address has sent too many invalid tokens"
        case .internalError: "The server failed"
        case .unavailable: "The server cannot answer at the moment"
        case .indexLoading: "The index of conversations is being read"
        }
    }
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
