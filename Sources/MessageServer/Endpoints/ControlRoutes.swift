import BalloonHTTP
import BalloonPOSIX
import Logging
import MessageStore

/// The routes on `DATA/control.sock` that change the data directory of a running server: those of ``ControlOperations``.
///
/// Each change is a job, whose identifier `job` the command chooses. While a job runs the answer is 202 with
/// `{"job":"…"}`, and `GET /jobs/ID` waits for its end. A failed job ends with 400 and `{"error":"…"}`, and has changed
/// nothing; after a selection it may have changed some of the messages, and its error says how many.
///
/// `GET /damage` lists what `POST /repair` would remove. `GET /statistics` answers with the numbers of `StoreStatistics`.
///
/// A service manager may pass a second control socket with the name `control`, so that operators need not be the server's user. The
/// sockets also serve `DeliveryRoute`, and `/livez` and `/readyz` for clients on this machine that do not
/// trust the public listener's certificate.
package enum ControlRoutes {
    /// The name of the socket in the data directory; only the directory's owner can reach it (mode 0600).
    package static let socketName = "control.sock"

    /// Returns the listeners of the control sockets, which serve operators on this machine.
    ///
    /// One socket is in the data directory, unless its path would be too long; the service manager may have
    /// passed another. Without them, commands can change the directory only while the server is stopped.
    static func listeners(
        _ directory: String, inherited: Int32?, _ scope: OperationScope, audit: AuditLog,
        others: [HTTPRoute], describeRefusal: @escaping RefusalDescription
    ) -> [HTTPListener] {
        let routes = (make(scope, audit: audit) + others).map(\.forLocalCallers)
        let own = SocketAddress("unix:" + directory + "/" + socketName)
        if own == nil {
            scope.logger.warning(
                "data directory path too long for a control socket; commands cannot reach this server")
        }
        var listeners: [HTTPListener] = []
        if let own { listeners.append(HTTPListener(own, routes: routes, describeRefusal: describeRefusal)) }
        if let inherited {
            // An inherited socket is already bound, so this address is not used to bind it.
            let address = SocketAddress.unix(path: socketName)
            listeners.append(
                HTTPListener(address, routes: routes, inherited: inherited, describeRefusal: describeRefusal))
        }
        return listeners
    }

    static func make(
        _ scope: OperationScope, jobs: ControlJobs = ControlJobs(), audit: AuditLog? = nil
    ) -> [HTTPRoute] {
        func route<Request, Result>(_ operation: ControlOperation<Request, Result>) -> HTTPRoute {
            operation.route(scope, jobs, audit)
        }
        typealias All = ControlOperations
        var routes = [
            route(All.erase), route(All.replay), route(All.drop), route(All.dropPending),
            route(All.dropReplies), route(All.retryReplies), route(All.claim), route(All.release),
            route(All.close), route(All.retryReversals), route(All.dropReversals), route(All.rebuild),
            route(All.trim), route(All.repair), route(All.damage), route(All.statistics),
            HTTPRoute(.get, "/jobs/*") { request, responder in
                let id = String(decoding: request.path.dropFirst("/jobs/".utf8.count), as: UTF8.self)
                jobs.wait(for: id, responder)
                return nil
            },
        ]
        guard let running = scope.running else { return routes }
        routes += [
            route(All.handlers), route(All.restartHandler), route(All.handlerLogs), route(All.people),
            route(All.changePeople), route(All.status), route(All.send),
        ]
        if running.levels != nil { routes += [route(All.logLevel), route(All.changeLogLevel)] }
        return routes
    }

    /// An identifier for a new job.
    package static func newJob() -> String { ControlJobs.newID() }

    /// Whether a text is a valid job identifier.
    package static func isJob(_ text: String) -> Bool { ControlJobs.isID(text) }
}
