package import BalloonPOSIX
package import BalloonTLS

/// What answers requests for one path; belongs to one shard, so that it may hold state without locks.
///
/// Called inline on the shard: it must not block. It returns the answer, or nil after it has handed the responder to
/// whoever will answer later.
package typealias HTTPHandler = (_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse?

/// What a route says at the head of a request, before any of its body is kept.
package enum HTTPVerdict: Sendable {
    /// The body may come; the handler finds the verdict in ``HTTPRequest/isAdmitted``.
    case admitted
    /// The answer; the body is not read, and the handler never sees the request.
    case refused(HTTPResponse)
}

/// Decides at the head of a request; belongs to one shard.
///
/// Called inline on the shard, once for each request whose framing and size are in order, and before `100 Continue`: it
/// must not block. The request has no body yet.
package typealias HTTPAdmission = (_ head: HTTPRequest) -> HTTPVerdict

/// One method on one path, and how its body is taken.
package struct HTTPRoute: Sendable {
    /// How the body reaches the handler.
    package enum Body: Sendable {
        /// Whole, up to a limit; over it 413.
        case collected(maximumBytes: Int)
        /// Piece by piece through ``HTTPRequest/bodyReader``, with back-pressure, up to a limit; over it reading throws.
        case pulled(maximumBytes: Int)

        var maximumBytes: Int {
            switch self {
            case .collected(let maximum), .pulled(let maximum): maximum
            }
        }
    }

    /// What one shard asks about the requests of the route.
    package struct Handlers {
        /// Nil admits every request.
        let admit: HTTPAdmission?
        let handle: HTTPHandler

        /// Pairs the decision at the head with what handles the whole request, so that both may share state.
        package init(admit: HTTPAdmission? = nil, handle: @escaping HTTPHandler) {
            self.admit = admit
            self.handle = handle
        }
    }

    let method: HTTPMethod
    let path: [UInt8]
    let isPrefix: Bool
    let body: Body
    let endBurst: (@Sendable () -> Void)?
    let makeHandlers: @Sendable (_ shard: Int) -> Handlers

    /// Makes a route; `path` is compared as bytes, and stands for everything below it when it ends in `/*`.
    ///
    /// `makeHandlers` is called once for every shard. A GET route answers HEAD too. `endBurst` is called on the shard after
    /// requests that arrived together were handled: what they began can go on in one go.
    package init(
        _ method: HTTPMethod, _ path: String, body: Body = .collected(maximumBytes: 0),
        endBurst: (@Sendable () -> Void)? = nil,
        makeHandlers: @escaping @Sendable (_ shard: Int) -> Handlers
    ) {
        self.method = method
        isPrefix = path.hasSuffix("/*")
        self.path = Array((isPrefix ? path.dropLast(1) : path[...]).utf8)
        self.body = body
        self.endBurst = endBurst
        self.makeHandlers = makeHandlers
    }

    /// Makes a route that admits every request, with a handler of its own for each shard.
    package init(
        _ method: HTTPMethod, _ path: String, body: Body = .collected(maximumBytes: 0),
        endBurst: (@Sendable () -> Void)? = nil,
        makeHandler: @escaping @Sendable (_ shard: Int) -> HTTPHandler
    ) {
        self.init(
            method, path, body: body, endBurst: endBurst,
            makeHandlers: { Handlers(handle: makeHandler($0)) })
    }

    /// Makes a route that admits every request, and whose handler needs no state of its own.
    package init(
        _ method: HTTPMethod, _ path: String, body: Body = .collected(maximumBytes: 0),
        handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> HTTPResponse?
    ) {
        self.init(method, path, body: body, makeHandlers: { _ in Handlers(handle: handler) })
    }

    func matches(_ path: ArraySlice<UInt8>) -> Bool {
        isPrefix ? path.starts(with: self.path) : path.elementsEqual(self.path)
    }
}

/// One address, and what is served there.
package struct HTTPListener: Sendable {
    let address: SocketAddress
    let routes: [HTTPRoute]
    let limits: HTTPLimits
    let tls: TLSCredentials?

    /// Makes a listener for a TCP address or a unix socket; it speaks TLS when it has credentials for that.
    package init(
        _ address: SocketAddress, routes: [HTTPRoute], limits: HTTPLimits = HTTPLimits(),
        tls: TLSCredentials? = nil
    ) {
        self.address = address
        self.routes = routes
        self.limits = limits
        self.tls = tls
    }
}
