import BalloonTLS

/// A listener on one shard: its limits, and its routes with this shard's handlers.
final class ServedListener {
    private(set) var limits: HTTPLimits
    private(set) var ticks: DeadlineTicks
    let routes: [ShardRoute]
    let tls: TLSCredentials?
    private let describeRefusal: RefusalDescription
    /// The listener's counter of connections, which all shards share.
    let connections: ConnectionCounter

    init(_ listener: HTTPListener, shard: Int, connections: ConnectionCounter) {
        limits = listener.limits
        tls = listener.tls
        describeRefusal = listener.describeRefusal
        ticks = DeadlineTicks(listener.limits)
        routes = listener.routes.map { ShardRoute($0, $0.makeHandlers(shard)) }
        self.connections = connections
    }

    /// Applies other limits: time limits that run already stay as they are.
    func apply(_ limits: HTTPLimits) {
        self.limits = limits
        ticks = DeadlineTicks(limits)
    }

    /// The route that serves a request, or the reason why no route does.
    enum Match {
        case route(ShardRoute)
        case notFound
        /// The path has routes, but only for the methods in this list, which becomes the value of `Allow`.
        case otherMethods(String)
    }

    func match(_ method: HTTPMethod, _ path: ArraySlice<UInt8>) -> Match {
        var isKnownPath = false
        for entry in routes where entry.route.matches(path) {
            if entry.route.method == method || method == .head && entry.route.method == .get {
                return .route(entry)
            }
            isKnownPath = true
        }
        return isKnownPath ? .otherMethods(allowed(path)) : .notFound
    }

    /// Returns the answer to a refused request, with the body from the listener's ``RefusalDescription``.
    func answer(to refusal: HTTPRefusal, fields: [(name: String, value: String)] = []) -> HTTPResponse {
        let content = describeRefusal(refusal)
        return HTTPResponse(
            refusal.status, contentType: content.type, body: content.bytes, fields: refusal.fields + fields)
    }

    /// Returns the value of `Allow` (RFC 9110 §10.2.1) for `path`, or for all routes when `path` is nil.
    func allowed(_ path: ArraySlice<UInt8>?) -> String {
        var methods: [HTTPMethod] = [.options]
        for entry in routes where path.map(entry.route.matches) ?? true {
            methods.append(entry.route.method)
            if entry.route.method == .get { methods.append(.head) }
        }
        return HTTPMethod.allCases.filter(methods.contains).map(\.rawValue).joined(separator: ", ")
    }
}

/// A route with its closures for one shard.
final class ShardRoute {
    let route: HTTPRoute
    let admit: HTTPAdmission?
    let handle: HTTPHandler

    init(_ route: HTTPRoute, _ handlers: HTTPRoute.Handlers) {
        self.route = route
        admit = handlers.admit
        handle = handlers.handle
    }
}

/// A listener's time limits in ticks of the timer wheel, computed once.
struct DeadlineTicks: Sendable {
    let firstByte: UInt64
    let head: UInt64
    let body: UInt64
    let bodyGrace: UInt64
    let request: UInt64
    private let minimumBodyBytesPerSecond: Int
    let idle: UInt64
    let answer: UInt64
    let write: UInt64
    let linger: UInt64

    init(_ limits: HTTPLimits) {
        firstByte = TimerWheel.ticks(limits.firstByteTimeout)
        head = TimerWheel.ticks(limits.headTimeout)
        body = TimerWheel.ticks(limits.bodyTimeout)
        bodyGrace = TimerWheel.ticks(limits.bodyGrace)
        request = TimerWheel.ticks(limits.requestTimeout)
        minimumBodyBytesPerSecond = max(1, limits.minimumBodyBytesPerSecond)
        idle = TimerWheel.ticks(limits.idleTimeout)
        answer = TimerWheel.ticks(limits.answerTimeout)
        write = TimerWheel.ticks(limits.writeTimeout)
        linger = TimerWheel.ticks(limits.lingerTimeout)
    }

    /// Returns the time limit of a body of which `bytes` have arrived, in ticks from the end of the header.
    func body(after bytes: Int) -> UInt64 {
        let earned = TimerWheel.ticks(.seconds(bytes / minimumBodyBytesPerSecond))
        return min(body, bodyGrace + earned)
    }
}
