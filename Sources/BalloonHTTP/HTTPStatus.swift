/// A response's status code with its reason phrase (RFC 9110 §15).
package struct HTTPStatus: Sendable, Hashable, CustomStringConvertible {
    /// The code of three digits, such as 404.
    package let code: Int
    /// The phrase that follows the code on the wire.
    package let reason: String

    private init(_ code: Int, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Creates a status without a reason phrase from a code of 100 to 599; nil for another number.
    package init?(code: Int) {
        guard (100...599).contains(code) else { return nil }
        self.init(code, "-")
    }

    /// Whether answers with this status have content; 204 and 304 end after their header (RFC 9110 §6.4.1).
    var hasContent: Bool { code >= 200 && code != 204 && code != 304 }

    /// The code and the phrase, such as `200 OK`.
    package var description: String { "\(code) \(reason)" }

    package static func == (left: HTTPStatus, right: HTTPStatus) -> Bool { left.code == right.code }
    package func hash(into hasher: inout Hasher) { hasher.combine(code) }

    package static let ok = HTTPStatus(200, "OK")
    package static let created = HTTPStatus(201, "Created")
    package static let accepted = HTTPStatus(202, "Accepted")
    package static let noContent = HTTPStatus(204, "No Content")
    package static let partialContent = HTTPStatus(206, "Partial Content")
    /// 302.
    package static let found = HTTPStatus(302, "Found")
    package static let notModified = HTTPStatus(304, "Not Modified")
    package static let badRequest = HTTPStatus(400, "Bad Request")
    package static let unauthorized = HTTPStatus(401, "Unauthorized")
    package static let forbidden = HTTPStatus(403, "Forbidden")
    package static let notFound = HTTPStatus(404, "Not Found")
    package static let methodNotAllowed = HTTPStatus(405, "Method Not Allowed")
    package static let notAcceptable = HTTPStatus(406, "Not Acceptable")
    package static let requestTimeout = HTTPStatus(408, "Request Timeout")
    package static let conflict = HTTPStatus(409, "Conflict")
    package static let preconditionFailed = HTTPStatus(412, "Precondition Failed")
    package static let contentTooLarge = HTTPStatus(413, "Content Too Large")
    package static let uriTooLong = HTTPStatus(414, "URI Too Long")
    package static let unsupportedMediaType = HTTPStatus(415, "Unsupported Media Type")
    package static let rangeNotSatisfiable = HTTPStatus(416, "Range Not Satisfiable")
    package static let expectationFailed = HTTPStatus(417, "Expectation Failed")
    package static let misdirectedRequest = HTTPStatus(421, "Misdirected Request")
    package static let unprocessableContent = HTTPStatus(422, "Unprocessable Content")
    package static let tooManyRequests = HTTPStatus(429, "Too Many Requests")
    package static let headerFieldsTooLarge = HTTPStatus(431, "Request Header Fields Too Large")
    package static let internalServerError = HTTPStatus(500, "Internal Server Error")
    package static let notImplemented = HTTPStatus(501, "Not Implemented")
    package static let badGateway = HTTPStatus(502, "Bad Gateway")
    package static let serviceUnavailable = HTTPStatus(503, "Service Unavailable")
    package static let versionNotSupported = HTTPStatus(505, "HTTP Version Not Supported")
}
