package import BalloonHTTP

/// What the fake gateway does instead of what it should, for one request.
package enum Misbehaviour: Sendable, Hashable {
    /// Refuses before anything else is looked at, with `Retry-After` where it is given.
    case answer(HTTPStatus, retryAfterSeconds: Int? = nil)
    /// Answers 200 with these bytes, whatever was asked: another length, another address, another format.
    case body([UInt8])
    /// Does what it was asked, and answers late.
    case delay(Duration)
    /// Does what it was asked, and never answers; ``FakeGateway/stop(within:)`` then drops the connection.
    case silence
    /// Does what it was asked, and closes the connection without an answer.
    case drop
    /// Announces the whole content, sends this much of it, and closes the connection.
    case truncate(bytes: Int)
    /// Answers with content that is so much longer, or shorter.
    case resize(by: Int)
    /// Answers with content of the right length that is something else, as under a wrong key.
    case garble
    /// Sends the content slowly.
    case trickle(bytesPerSecond: Int)
    /// Sends content that never ends.
    case endless
}

/// The calls at which the fake gateway can misbehave, and which it counts.
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
