/// One of the requests that are made of Apple, as errors and log lines name it.
package enum GatewayCall: String, Sendable, CustomStringConvertible {
    /// `POST /message`.
    case message
    /// `POST /authenticate`.
    case authenticate
    /// `GET /preUpload`.
    case preUpload
    /// `POST` to the address that `preUpload` answered.
    case upload
    /// `GET /preDownload`.
    case preDownload
    /// `GET` of the address that `preDownload` answered.
    case download
    /// `POST /decodePayload`.
    case decodePayload
    /// `POST /encodePayload`.
    case encodePayload
    /// `POST /constructPayload`.
    case constructPayload

    /// The last part of the path.
    package var description: String { rawValue }
}
