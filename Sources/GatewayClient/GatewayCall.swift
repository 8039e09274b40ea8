/// A request type of Apple's gateway, with the name that errors and log lines use.
package enum GatewayCall: String, CaseIterable, Sendable, CustomStringConvertible {
    /// `POST /message`.
    case message
    /// `POST /authenticate`.
    case authenticate
    /// `GET /preUpload`.
    case preUpload
    /// `POST` to the address that `preUpload` returned.
    case upload
    /// `GET /preDownload`.
    case preDownload
    /// `GET` of the address that `preDownload` returned.
    case download
    /// `POST /decodePayload`.
    case decodePayload
    /// `POST /encodePayload`.
    case encodePayload
    /// `POST /constructPayload`.
    case constructPayload

    /// The name of the call, such as `preUpload`; it is also the last part of the path, except for `upload` and
    /// `download`.
    package var description: String { rawValue }
}
