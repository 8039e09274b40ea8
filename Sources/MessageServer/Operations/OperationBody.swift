import BalloonHTTP

/// The way in which an operation receives a request's body, with the schema of the body.
package enum OperationBody: Sendable {
    /// The operation has no body.
    case none
    /// A JSON object of at most `maximumBytes` bytes, which a request may omit unless `isRequired`.
    ///
    /// Without a schema, the document does not show it.
    case json(maximumBytes: Int, JSONSchema?, isRequired: Bool = true)
    /// Any bytes, at most as many as `maximumBytes` returns, which the operation reads in pieces.
    case pulled(maximumBytes: @Sendable () -> Int, JSONSchema = .bytes)

    /// The body of the operation's route.
    var received: HTTPRoute.Body {
        switch self {
        case .none: .collected(maximumBytes: 0)
        case .json(let maximum, _, _): .collected(maximumBytes: maximum)
        case .pulled(let maximum, _): .pulled(maximumBytes: maximum())
        }
    }

    /// The body in the OpenAPI document.
    var described: (type: String, schema: JSONSchema, isRequired: Bool)? {
        switch self {
        case .none: nil
        case .json(_, let schema, let isRequired): schema.map { ("application/json", $0, isRequired) }
        case .pulled(_, let schema): ("application/octet-stream", schema, true)
        }
    }
}
