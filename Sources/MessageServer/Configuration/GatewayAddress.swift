/// Where Apple's gateway is, and from where payloads may be fetched.
package struct GatewayAddress: Sendable, Equatable {
    /// The gateway's base address, without a slash at its end; plain `http` only on a loopback address.
    package var url = "https://mspgw.push.apple.com/v1"
    /// Suffixes of the hosts that serve payloads, in lower case; a loopback address with its port allows plain `http` to it.
    package var downloadHosts = ["icloud-content.com", "icloud.com", "apple.com"]

    /// How long after its decision a reply expires; JSON: `giveUpAfterHours`.
    package var replyLifetime = Duration.seconds(72 * 3600)

    /// Apple's own.
    package init() {}
}
