/// The address of Apple's gateway, the hosts of downloads, and the name that Apple sees.
package struct GatewayAddress: Sendable, Equatable {
    /// The gateway's base URL, without a trailing slash; plain `http` only for a loopback address.
    package var url = "https://mspgw.push.apple.com/v1"
    /// Suffixes of the hosts that serve payloads, in lower case; a loopback address with its port allows plain `http`
    /// to it.
    package var downloadHosts = ["icloud-content.com", "icloud.com", "apple.com"]

    /// The value of the header `msp-agent`, by which Apple's logs name this server.
    package var agent = "Balloon"

    /// How long after the handler decided on a reply the server tries to send it; JSON: `giveUpAfterHours`.
    package var replyLifetime = Duration.seconds(72 * 3600)

    /// Creates the address of Apple's production gateway.
    package init() {}
}
