import BalloonPOSIX

/// One client connection: what has been read and not used, what must be written, and where its request stands.
///
/// Belongs to its shard; every change is made there.
final class Connection {
    /// What the connection is doing.
    enum Phase {
        /// Reading a request's header, or waiting for one.
        case head
        /// Waiting for the rest of a body of known length.
        case collecting(length: Int)
        /// Taking a chunked body apart.
        case collectingChunks
        /// The handler has the request and will answer; a pulled body may still come in.
        case answering
        /// The answer is being written piece by piece.
        case streaming
        /// Everything is said; what still comes in is thrown away until the peer has finished.
        case lingering
    }

    let descriptor: Descriptor
    let token: UInt64
    let service: ListenerService

    var phase = Phase.head
    var parser: RequestParser
    /// Bytes from the current request's first one on, when they did not fit into one read.
    var input: [UInt8] = []
    var output: [UInt8] = []
    var outputStart = 0
    var interest: Epoll.Events = .readable
    var isOpen = true
    var isPeerFinished = false
    var isClosing = false

    var exchangeNumber: UInt32 = 0
    var route: ShardRoute?
    var isHeadRequest = false
    var minorVersion: UInt8 = 1
    var isPersistent = true
    /// The header's bytes and the decoded body of a chunked or pulled request.
    var headBytes: [UInt8] = []
    var body: [UInt8] = []
    var decoder = ChunkedDecoder()
    var pull: PulledBody?
    var writer: CheckedContinuation<Void, any Error>?

    /// The tick at which the current phase has lasted too long, and the one at which the wheel looks.
    var deadline: UInt64 = .max
    var scheduled: UInt64 = .max

    init(_ descriptor: consuming Descriptor, token: UInt64, service: ListenerService) {
        self.descriptor = descriptor
        self.token = token
        self.service = service
        parser = RequestParser(limits: service.limits)
    }

    var pendingOutputBytes: Int { output.count - outputStart }
    var exchange: ExchangeID { ExchangeID(connection: token, number: exchangeNumber) }

    /// No request is under way and nothing waits to be written.
    var isIdle: Bool {
        if case .head = phase { parser.isAtStart && input.isEmpty && pendingOutputBytes == 0 } else { false }
    }

    /// What the socket should be watched for now.
    var wantedInterest: Epoll.Events {
        var wanted: Epoll.Events = []
        if pendingOutputBytes > 0 { wanted.insert(.writable) }
        if !isPeerFinished, wantsInput { wanted.insert(.readable) }
        return wanted
    }

    private var wantsInput: Bool {
        switch phase {
        case .head, .collecting, .collectingChunks:
            pendingOutputBytes < service.limits.maximumPendingOutputBytes
        case .answering, .streaming:
            // Pipelined requests wait in the buffer, and then in the kernel's.
            if let pull, !pull.isFinished { pull.wantsMore } else { input.count < 16384 }
        case .lingering: true
        }
    }
}

/// A body that the handler pulls: what has come in and not been taken.
struct PulledBody {
    var remaining: BodyFraming
    var maximumBytes: Int
    var receivedBytes = 0
    var buffered: [UInt8] = []
    var isFinished = false
    var needsContinue = false
    var waiting: CheckedContinuation<[UInt8]?, any Error>?
    var failure: HTTPStreamError?

    var wantsMore: Bool { buffered.count < 65536 }
}

/// A listener as one shard serves it: its limits, and its routes with this shard's handlers.
final class ListenerService {
    let limits: HTTPLimits
    let routes: [ShardRoute]

    init(_ listener: HTTPListener, shard: Int) {
        limits = listener.limits
        routes = listener.routes.map { ShardRoute($0, handler: $0.makeHandler(shard)) }
    }

    /// What serves a request, or the status that says why nothing does.
    enum Match {
        case route(ShardRoute)
        case notFound
        /// The path exists; the methods that it takes.
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

    /// The value of `Allow` (RFC 9110 §10.2.1) for a path; for nil, of the whole server.
    func allowed(_ path: ArraySlice<UInt8>?) -> String {
        var methods: [HTTPMethod] = [.options]
        for entry in routes where path.map(entry.route.matches) ?? true {
            methods.append(entry.route.method)
            if entry.route.method == .get { methods.append(.head) }
        }
        return HTTPMethod.allCases.filter(methods.contains).map(\.rawValue).joined(separator: ", ")
    }
}

/// A route with its handler for one shard.
final class ShardRoute {
    let route: HTTPRoute
    let handler: HTTPHandler

    init(_ route: HTTPRoute, handler: @escaping HTTPHandler) {
        self.route = route
        self.handler = handler
    }
}
