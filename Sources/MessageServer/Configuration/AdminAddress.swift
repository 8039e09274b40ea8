package import BalloonPOSIX

/// The address of the admin listener, for operators and their programs.
package enum AdminAddress: Sendable, Equatable {
    /// No admin listener; JSON: `"off"`.
    case off
    /// The default address: when it cannot be bound, the server starts without an admin listener.
    case optional(SocketAddress)
    /// A configured address: the server does not start when it cannot be bound.
    case required(SocketAddress)

    /// The address when neither the configuration file nor the environment names one.
    static let standard = AdminAddress.optional(.tcp(host: "127.0.0.1", port: 8081))

    /// The address to bind; nil when there is no listener.
    var socketAddress: SocketAddress? {
        switch self {
        case .off: nil
        case .optional(let address), .required(let address): address
        }
    }
}
