/// One of the requests that are made of Apple, as errors and log lines name it.
package enum GatewayCall: String, Sendable, CustomStringConvertible {
    /// `POST /message`.
    case message
    /// `GET /preDownload`.
    case preDownload
    /// `GET` of the address that `preDownload` answered.
    case download
    /// `POST /decodePayload`.
    case decodePayload

    /// The last part of the path.
    package var description: String { rawValue }
}
