package import BalloonWire
import BusinessMessages

/// The address of Apple's gateway, the identity and secret of the MSP, limits, and retries.
package struct GatewayConfiguration: Sendable {
    /// Apple's own gateway.
    package static let defaultBaseURL = "https://mspgw.push.apple.com/v1"
    /// The hosts, with all names below them, from which Apple serves payloads and attachments.
    package static let defaultDownloadHosts = ["icloud-content.com", "icloud.com", "apple.com"]

    /// The URL before `/message` and the paths of the other calls; plain `http` only to a loopback address.
    package var baseURL: String
    /// The identity of the MSP, the `iss` claim of its tokens.
    package var mspID: String
    /// The key that signs the tokens.
    package var secret: Secret
    /// The host suffixes and literal addresses that ``DownloadPolicy`` allows.
    package var downloadHosts: [String]

    /// The size limit of one encrypted payload.
    package var maximumDownloadBytes = 32 << 20
    /// The size limit of a payload that `decodePayload` or `encodePayload` returns.
    ///
    /// It also limits a payload that is inflated before `decodePayload`.
    package var maximumPayloadBytes = 32 << 20
    /// The size limit of one attachment, in either direction; Apple accepts 100 MB.
    package var maximumAttachmentBytes = Attachment.maximumBytes
    /// The value of the header `msp-agent`, our name in Apple's log; Apple logs at most 64 characters.
    package var agent = "Balloon"
    /// The time limit of one request, from opening the connection to the last byte received.
    package var requestTimeout = Duration.seconds(30)
    /// The time limit of one attachment transfer; it also fails when no byte moves for ``requestTimeout``.
    package var transferTimeout = Duration.seconds(600)
    /// The time limit for opening a connection.
    package var connectTimeout = Duration.seconds(10)
    /// The schedule of retries of a failed request.
    package var retries = RetryPolicy()

    /// Makes a configuration with the default limits.
    package init(
        baseURL: String = defaultBaseURL, mspID: String, secret: Secret,
        downloadHosts: [String] = defaultDownloadHosts
    ) {
        self.baseURL = baseURL
        self.mspID = mspID
        self.secret = secret
        self.downloadHosts = downloadHosts
    }
}
