package import BalloonHTTP

/// A fault that the fake gateway shows on one request.
package enum Misbehaviour: Sendable, Hashable {
    /// Answers with this status before any check, and with `Retry-After` when seconds are given.
    case answer(HTTPStatus, retryAfterSeconds: Int? = nil)
    /// Answers every request with 200 and these bytes, so that a test can send a wrong length, address or
    /// format.
    case body([UInt8])
    /// Processes the request, and answers late.
    case delay(Duration)
    /// Processes the request, and never answers; ``FakeGateway/stop()`` then drops the connection.
    case silence
    /// Processes the request, and closes the connection without an answer.
    case drop
    /// Announces the full length, sends this many bytes, and closes the connection.
    case truncate(bytes: Int)
    /// Answers with content that is longer by this many bytes; a negative number makes it shorter.
    case resize(by: Int)
    /// Answers with inverted bytes of the right length, like content that was encrypted with a different key.
    case garble
    /// Sends the content slowly.
    case trickle(bytesPerSecond: Int)
    /// Sends endless content.
    case endless
}

/// The endpoints of the fake gateway; each has a request counter and misbehaviour rules.
package enum GatewayEndpoint: String, Sendable, CaseIterable {
    /// `POST /v1/message`.
    case message
    /// `POST /v1/authenticate`.
    case authenticate
    /// `GET /v1/preUpload`.
    case preUpload
    /// `POST /upload/…`, the address that `preUpload` returns.
    case upload
    /// `POST /v1/encodePayload`.
    case encodePayload
    /// `POST /v1/constructPayload`.
    case constructPayload
    /// `GET /v1/preDownload`.
    case preDownload
    /// `GET /blob/…`, the address that `preDownload` returns.
    case blob
    /// `POST /v1/decodePayload`.
    case decodePayload
}
