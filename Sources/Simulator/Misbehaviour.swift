package import BalloonHTTP

/// What the fake gateway does instead of what it should, for one request.
package enum Misbehaviour: Sendable {
    /// Refuses before anything else is looked at, with `Retry-After` where it is given.
    case answer(HTTPStatus, retryAfterSeconds: Int? = nil)
    /// Answers 200 with these bytes, whatever was asked: another length, another address, another format.
    case body([UInt8])
    /// Does what it was asked, and answers late.
    case delay(Duration)
    /// Does what it was asked, and never answers; ``FakeGateway/stop(within:)`` then drops the connection.
    case silence
}

/// The calls at which the fake gateway can misbehave, and which it counts.
package enum GatewayEndpoint: Sendable, CaseIterable {
    /// `POST /v1/message`.
    case message
    /// `POST /v1/authenticate`.
    case authenticate
    /// `GET /v1/preUpload`.
    case preUpload
    /// `POST /upload/…`, the address that `preUpload` answers.
    case upload
    /// `POST /v1/encodePayload`.
    case encodePayload
    /// `POST /v1/constructPayload`.
    case constructPayload
    /// `GET /v1/preDownload`.
    case preDownload
    /// `GET /blob/…`, the address that `preDownload` answers.
    case blob
    /// `POST /v1/decodePayload`.
    case decodePayload
}
