/// A closure that handles the requests of one route on one shard, so it may hold state without locks.
///
/// The shard calls the handler on its queue, so the handler must not block. The handler returns the answer,
/// or nil to answer later through `responder`.
package typealias HTTPHandler = (_ request: HTTPRequest, _ responder: HTTPResponder) -> HTTPResponse?

/// The decision of a route about the head of a request, before its body is stored.
package enum HTTPVerdict: Sendable {
    /// The server receives the body; the handler finds the mark in ``HTTPRequest/admission``.
    case admitted(mark: UInt64)
    /// The server sends this answer, does not read the body, and does not call the handler.
    case refused(HTTPResponse)
}

/// A closure that decides about a request from its head, on one shard.
///
/// The shard calls the closure on its queue once for each request with valid framing and size, before it
/// sends `100 Continue`. The closure must not block. The request has no body yet.
package typealias HTTPAdmission = (_ head: HTTPRequest) -> HTTPVerdict

/// A route of the server: the method, the path, and the way in which the handler receives the body.
package struct HTTPRoute: Sendable {
    /// The way in which the handler receives the body.
    package struct Body: Sendable {
        let isPulled: Bool
        private let limit: @Sendable () -> Int

        /// The limit of the next body.
        var maximumBytes: Int { limit() }

        /// The handler gets the complete body, up to a limit; a longer body gets 413.
        ///
        /// The expression of the limit is evaluated for each request, so the limit may be a setting that changes.
        package static func collected(maximumBytes: @escaping @Sendable @autoclosure () -> Int) -> Body {
            Body(isPulled: false, limit: maximumBytes)
        }

        /// The handler reads pieces from ``HTTPRequest/bodyReader``, up to a limit; reading beyond it throws.
        ///
        /// The server reads from the socket only as fast as the handler reads. The expression of the limit is
        /// evaluated for each request.
        package static func pulled(maximumBytes: @escaping @Sendable @autoclosure () -> Int) -> Body {
            Body(isPulled: true, limit: maximumBytes)
        }
    }

    /// The closures of one shard for the requests of the route.
    package struct Handlers {
        /// The decision about the head of a request; nil to admit every request.
        let admit: HTTPAdmission?
        let handle: HTTPHandler

        /// Creates the closures of one shard: one for the head and one for the complete request; both may
        /// share state.
        package init(admit: HTTPAdmission? = nil, handle: @escaping HTTPHandler) {
            self.admit = admit
            self.handle = handle
        }
    }

    let method: HTTPMethod
    let path: [UInt8]
    let isPrefix: Bool
    /// The template of a path with parameters; nil when the path has none.
    let template: PathTemplate?
    let body: Body
    let endBurst: (@Sendable () -> Void)?
    var makeHandlers: @Sendable (_ shard: Int) -> Handlers

    /// Creates a route; `path` is compared as bytes, and includes all paths below it when it ends in `/*`.
    ///
    /// A segment `{name}` is a parameter: it matches one segment that is not empty, and
    /// ``HTTPRequest/parameter(_:)`` returns its decoded value. A value that is not UTF-8 gets 400; a value
    /// of more than 1024 bytes gets 414. A path with parameters must not end in `/*`. The first route of a
    /// listener that matches a request serves it.
    ///
    /// `makeHandlers` is called once for each shard. A GET route also answers HEAD. The shard calls
    /// `endBurst` after it has handled all requests that arrived together, so that their further work can be
    /// done as one batch.
    package init(
        _ method: HTTPMethod, _ path: String, body: Body = .collected(maximumBytes: 0),
        endBurst: (@Sendable () -> Void)? = nil,
        makeHandlers: @escaping @Sendable (_ shard: Int) -> Handlers
    ) {
        self.method = method
        template = PathTemplate(path)
        isPrefix = path.hasSuffix("/*")
        self.path = Array((isPrefix ? path.dropLast(1) : path[...]).utf8)
        self.body = body
        self.endBurst = endBurst
        self.makeHandlers = makeHandlers
    }

    /// Creates a route that admits every request, and whose handler has no state.
    package init(
        _ method: HTTPMethod, _ path: String, body: Body = .collected(maximumBytes: 0),
        handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> HTTPResponse?
    ) {
        self.init(method, path, body: body, makeHandlers: { _ in Handlers(handle: handler) })
    }

    func matches(_ path: ArraySlice<UInt8>) -> Bool {
        if let template { return template.matches(path) }
        return isPrefix ? path.starts(with: self.path) : path.elementsEqual(self.path)
    }
}
