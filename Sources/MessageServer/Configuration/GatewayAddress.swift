import GatewayClient

/// The address of Apple's gateway, the hosts of downloads, and the name that Apple sees.
package struct GatewayAddress: Sendable, Equatable {
    /// The gateway's base URL, without a trailing slash; plain `http` only for a loopback address.
    package var url = GatewayConfiguration.defaultBaseURL
    /// The suffixes of the hosts from which payloads may be downloaded, in lower case.
    ///
    /// A loopback address with its port also allows plain `http` to that address.
    package var downloadHosts = GatewayConfiguration.defaultDownloadHosts

    /// The value of the header `msp-agent`, by which Apple's logs name this server.
    package var agent = "Balloon"

    /// The time, from the handler's decision, in which the server tries to send a reply; JSON:
    /// `giveUpAfterHours`.
    package var replyLifetime = Duration.seconds(72 * 3600)

    /// Creates the address of Apple's production gateway.
    package init() {}
}
