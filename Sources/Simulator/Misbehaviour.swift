package import BalloonHTTP

/// A fault of the fake gateway at one request.
package enum Misbehaviour: Sendable, Hashable {
    /// Answers with this status before any check, with `Retry-After` where it is given.
    case answer(HTTPStatus, retryAfterSeconds: Int? = nil)
    /// Answers 200 with these bytes for any request: another length, another address, another format.
    case body([UInt8])
    /// Processes the request, and answers late.
    case delay(Duration)
    /// Processes the request, and never answers; ``FakeGateway/stop(within:)`` then drops the connection.
    case silence
    /// Processes the request, and closes the connection without an answer.
    case drop
    /// Announces the full length, sends this many bytes, and closes the connection.
    case truncate(bytes: Int)
    /// Answers with content that is longer by this many bytes, or shorter.
    case resize(by: Int)
    /// Answers with other content of the right length, as from a wrong key.
    case garble
    /// Sends the content slowly.
    case trickle(bytesPerSecond: Int)
    /// Sends endless content.
    case endless
}

/// The calls of the fake gateway, which have counters and rules.
package enum GatewayEndpoint: String, Sendable, CaseIterable {
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
