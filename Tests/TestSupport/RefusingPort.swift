import Glibc

/// A loopback port that refuses connections and stays reserved as long as this value exists.
public final class RefusingPort: Sendable {
    /// The port.
    public let number: UInt16
    private let descriptor: Int32

    /// Binds a port without listening on it.
    public init() {
        (descriptor, number) = loopbackSocket()
    }

    deinit { close(descriptor) }

    /// The address `http://127.0.0.1:PORT`.
    public var origin: String { "http://127.0.0.1:\(number)" }
}
