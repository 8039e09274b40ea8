import BalloonTransport
import Synchronization

/// The transports of one service's calls that charge.
///
/// A transport has at most 256 connections, and a further transfer waits for one. A call that charges may take
/// ten minutes, so a call that finds a transport full gets another transport instead. The server bounds the
/// number of such calls.
final class ChargeTransports: Sendable {
    private struct Used: Sendable {
        let transport: any HTTPTransport
        var calls = 0
    }

    /// The maximum number of calls of one transport; below its number of connections.
    private static let maximumCalls = 250

    private let make: @Sendable () throws -> any HTTPTransport
    private let used = Mutex<[Used]>([])

    init(_ make: @escaping @Sendable () throws -> any HTTPTransport) { self.make = make }

    /// Calls `body` with a transport that has a free connection.
    func withTransport<Value>(_ body: (any HTTPTransport) async throws -> Value) async throws -> Value {
        let (index, transport) = try used.withLock { used in
            if let index = used.firstIndex(where: { $0.calls < Self.maximumCalls }) {
                used[index].calls += 1
                return (index, used[index].transport)
            }
            let transport = try make()
            used.append(Used(transport: transport, calls: 1))
            return (used.count - 1, transport)
        }
        defer { used.withLock { $0[index].calls -= 1 } }
        return try await body(transport)
    }
}
