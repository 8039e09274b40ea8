package import BalloonWire

/// Where Apple's gateway is, who we are to it, and how long and how often it is asked.
package struct GatewayConfiguration: Sendable {
    /// Apple's own gateway.
    package static let defaultBaseURL = "https://mspgw.push.apple.com/v1"
    /// The hosts, with everything below them, from which Apple serves payloads and attachments.
    package static let defaultDownloadHosts = ["icloud-content.com", "icloud.com", "apple.com"]

    /// The address that `/message` is appended to; plain `http` is spoken with a loopback address only.
    package var baseURL: String
    /// The identity of the MSP, which signs as `iss`.
    package var mspID: String
    /// The key of the tokens.
    package var secret: Secret
    /// What ``DownloadPolicy`` lets through.
    package var downloadHosts: [String]

    /// Bytes of one encrypted payload.
    package var maximumDownloadBytes = 32 << 20
    /// Bytes of one payload after `decodePayload`, and of one that is inflated on the way there.
    package var maximumPayloadBytes = 32 << 20
    /// Bytes of one attachment, in either direction; Apple takes 100 MB.
    package var maximumAttachmentBytes = 100 << 20
    /// The header `msp-agent`: what Apple's log calls us, at most 64 characters of it.
    package var agent = "Balloon"
    /// From the first byte sent to the last one received, for one request.
    package var requestTimeout = Duration.seconds(30)
    /// The same for an attachment, which must not stand still for longer than ``requestTimeout``.
    package var transferTimeout = Duration.seconds(600)
    /// Until a connection stands.
    package var connectTimeout = Duration.seconds(10)
    /// When a request is sent again.
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
