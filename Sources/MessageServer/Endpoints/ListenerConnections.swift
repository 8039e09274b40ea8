import BalloonHTTP
import BalloonPOSIX
import Synchronization

/// The address of a listener, known once it is bound.
final class BoundAddress: Sendable {
    private struct State {
        var address: SocketAddress?
        /// Weak, because the server's routes hold this value.
        weak var server: HTTPServer?
    }

    private let state = Mutex(State())

    var address: SocketAddress? {
        get { state.withLock { $0.address } }
        set { state.withLock { $0.address = newValue } }
    }

    /// The number of open connections; 0 without a server.
    var connectionCount: Int { state.withLock { $0.server }?.connectionCount ?? 0 }

    func serve(with server: HTTPServer?) { state.withLock { $0.server = server } }
}

/// The numbers of open connections of the public listener, the control socket and the admin listener.
final class ListenerConnections: Sendable {
    private struct State {
        /// Weak, because the server's routes hold this value.
        weak var server: HTTPServer?
    }

    private let state = Mutex(State())
    private let admin: BoundAddress

    init(admin: BoundAddress) { self.admin = admin }

    /// Counts the connections of `server`, whose first listener is the public one.
    func serve(with server: HTTPServer) { state.withLock { $0.server = server } }

    /// The counts by listener.
    var counts: [(listener: String, count: Int)] {
        let counts = state.withLock { $0.server }?.connectionCounts ?? []
        return [
            ("public", counts.first ?? 0), ("control", counts.dropFirst().reduce(0, +)),
            ("admin", admin.connectionCount),
        ]
    }
}
