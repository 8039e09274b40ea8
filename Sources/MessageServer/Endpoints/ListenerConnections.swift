import BalloonHTTP
import BalloonPOSIX
import Synchronization

/// The address of the admin listener, known once it is bound, and the numbers of open connections of the public
/// listener, the control socket and the admin listener.
final class ListenerConnections: Sendable {
    private struct State {
        var adminAddress: SocketAddress?
        /// Weak, because the servers' routes hold this value.
        weak var http: HTTPServer?
        weak var admin: HTTPServer?
    }

    private let state = Mutex(State())

    var adminAddress: SocketAddress? {
        get { state.withLock { $0.adminAddress } }
        set { state.withLock { $0.adminAddress = newValue } }
    }

    /// Counts the connections of these servers; the first listener of `http` is the public one.
    func serve(with http: HTTPServer, admin: HTTPServer?) {
        state.withLock { state in
            state.http = http
            state.admin = admin
        }
    }

    /// The counts by listener.
    var counts: [ServerStatus.Listener] {
        let (http, admin) = state.withLock { ($0.http, $0.admin) }
        let counts = http?.connectionCounts ?? []
        return [
            ServerStatus.Listener(name: "public", connections: counts.first ?? 0),
            ServerStatus.Listener(name: "control", connections: counts.dropFirst().reduce(0, +)),
            ServerStatus.Listener(name: "admin", connections: admin?.connectionCount ?? 0),
        ]
    }
}
