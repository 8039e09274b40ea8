package import BalloonPOSIX
import BalloonWire

/// The settings of the inspector's listener.
package struct InspectorSettings: Sendable, Equatable {
    /// The address of `balloon dev` without an option.
    package static let defaultAddress = SocketAddress.tcp(host: "127.0.0.1", port: 8026)

    /// The address to listen on.
    package var address: SocketAddress
    /// Whether another port is used when the address is in use.
    package var mayUseOtherPort: Bool
    /// The names, in addition to those of loopback, under which browsers reach the listener; without ports.
    package var hosts: [String]
    /// The token of every request below `/dev/v1`.
    package var token: String
    /// A folder from which the page's files are read for each request; nil for those in the program.
    package var webFolder: String?

    /// Creates settings; without an address it uses the default one, or a free port when the default one is
    /// in use.
    package init(
        address: SocketAddress? = nil, hosts: [String] = [], token: String = InspectorSettings.randomToken(),
        webFolder: String? = nil
    ) {
        self.address = address ?? Self.defaultAddress
        mayUseOtherPort = address == nil
        self.hosts = hosts
        self.token = token
        self.webFolder = webFolder
    }

    /// A new token: 128 random bits as 32 hexadecimal digits.
    package static func randomToken() -> String { Hex.encode(randomBytes(16)) }
}
