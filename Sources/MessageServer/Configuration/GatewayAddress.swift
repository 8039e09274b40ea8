/// The address of Apple's gateway, the hosts of downloads, and the name that Apple sees.
package struct GatewayAddress: Sendable, Equatable {
    /// The gateway's base URL, without a trailing slash; plain `http` only for a loopback address.
    package var url = "https://mspgw.push.apple.com/v1"
    /// Suffixes of the hosts that serve payloads, in lower case; a loopback address with its port allows plain `http` to it.
    package var downloadHosts = ["icloud-content.com", "icloud.com", "apple.com"]

    /// The header `msp-agent`, this server's name in Apple's log.
    package var agent = "Balloon"

    /// The time after its decision at which a reply expires; JSON: `giveUpAfterHours`.
    package var replyLifetime = Duration.seconds(72 * 3600)

    /// Creates Apple's own address.
    package init() {}
}
