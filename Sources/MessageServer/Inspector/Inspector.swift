import BalloonHTTP
package import BalloonPOSIX
import BalloonWire
package import Logging
import MessageStore
import Synchronization

/// The inspector: a listener with the web page of `balloon dev` and the operations below `/dev/v1`.
///
/// It is for the developer of a handler: it shows customers' messages, and it may have a simulated phone.
package final class Inspector: Sendable {
    /// The stages and other events that the page shows.
    package let events: InspectorEvents
    /// The calls of handlers.
    let attempts = InspectorAttempts()
    /// The levers of handlers, which only a simulator has.
    let levers = HandlerLevers()
    private let settings: InspectorSettings
    private let hosts: HostRule
    private let tokenDigest: [UInt8]
    private let logger: Logger
    private let server = Mutex<(server: HTTPServer, address: SocketAddress)?>(nil)
    private let routes: [InspectorRoute]
    private let simulator: (any InspectorSimulator)?
    private let version: String
    /// Limits the operations in flight, which wait for a thread of the executor or for an event.
    private let inFlight = InFlightOperations(maximum: 256)
    private let executor = BlockingTaskExecutor(maximumThreads: 4)

    /// Creates an inspector; `routes` are operations in addition to those of the server.
    ///
    /// Without a simulator it shows a server in production, and changes nothing.
    package init(
        _ settings: InspectorSettings, events: InspectorEvents, routes: [InspectorRoute],
        simulator: (any InspectorSimulator)? = nil, version: String = "unknown", logger: Logger
    ) {
        self.simulator = simulator
        self.version = version
        self.settings = settings
        self.events = events
        self.routes = routes
        self.logger = logger
        hosts = HostRule(.loopback, names: settings.hosts)
        tokenDigest = SHA256.hash(settings.token.utf8)
    }

    /// The bound address; nil before the start.
    package var address: SocketAddress? { server.withLock { $0?.address } }

    /// The address for a browser, with the token; nil before the start.
    package var pageURL: String? { address.map { "http://\($0)/#t=\(settings.token)" } }

    /// Binds the address and serves; uses another port when the default address is in use.
    func start(_ store: Store, _ registry: HandlerRegistry, _ pipelines: Pipelines) async throws {
        let deliveries = InspectorDeliveries(
            store: store, registry: registry, events: events, attempts: attempts, simulator: simulator,
            trials: InspectorTrials(store, pipelines, registry, attempts))
        var routes = routes + events.routes + deliveries.routes
        if let simulator {
            routes += InspectorHandlers(registry: registry, levers: levers).routes
            simulator.open(store)
        } else {
            routes += InspectorOverview(registry: registry, version: version).routes
        }
        let all = InspectorDocument.completing(routes)
        do {
            try await start(at: settings.address, all)
        } catch let error as SystemError {
            guard settings.mayUseOtherPort else { throw error }
            try await start(at: .tcp(host: "127.0.0.1", port: 0), all)
        }
    }

    private func start(at address: SocketAddress, _ routes: [InspectorRoute]) async throws {
        var limits = HTTPLimits()
        limits.maximumConnections = 256
        // A scenario, or many calls of another handler, may take minutes.
        limits.answerTimeout = .seconds(600)
        limits.maximumBufferedBytes = 192 << 20
        let listener = HTTPListener(
            address, routes: pages + routes.map(route), limits: limits,
            describeRefusal: { refusal in
                let problem = InspectorProblem(refusal.status, refusal.reason)
                return HTTPContent(type: APIProblem.mediaType, bytes: problem.json)
            })
        let started = try HTTPServer(listeners: [listener], shards: 1, logger: logger)
        let bound = try await started.start()[0]
        server.withLock { $0 = (started, bound) }
    }

    /// Stops within `grace`.
    func stop(within grace: Duration) async {
        events.stop()
        let running = server.withLock { $0.take() }
        await running?.server.stop(within: grace)
    }

    /// The routes of the page `/` and of its files.
    private var pages: [HTTPRoute] {
        WebPages.routes(
            "phone.html", at: ["/"], files: "/assets/{version}/{file}", from: settings.webFolder,
            refuse: { request, _ in self.problem(of: request, needsToken: false).map(Self.answer) },
            notFound: { _ in Self.answer(InspectorProblem(.notFound, "there is no such resource")) })
    }

    /// The problem of a request by its head; nil when it is admitted.
    ///
    /// `Host` must be allowed by a ``HostRule``, and `Origin` must have the same host and port as `Host`.
    private func problem(of request: HTTPRequest, needsToken: Bool) -> InspectorProblem? {
        guard let host = request.text(.host), hosts.allows(host) else {
            return InspectorProblem(
                .misdirectedRequest,
                "Host does not name this listener; use 127.0.0.1, or start with --inspector-host NAME")
        }
        if let origin = request.text(.origin), !HostRule.isSame(origin, as: host) {
            return InspectorProblem(.forbidden, "Origin is another site than Host")
        }
        guard needsToken, !hasToken(request) else { return nil }
        var problem = InspectorProblem(
            .unauthorized,
            "the token is missing or wrong; open the address that the server printed at its start")
        problem.fields = [("WWW-Authenticate", "Bearer realm=\"balloon inspector\"")]
        return problem
    }

    /// Whether the header has the token; digests are compared in constant time, so that the time reveals
    /// nothing.
    private func hasToken(_ request: HTTPRequest) -> Bool {
        guard !request.isRepeated(.authorization),
            let given = request.field(.authorization).flatMap(bearerToken)
        else { return false }
        return constantTimeEquals(tokenDigest, SHA256.hash(given))
    }

    private func route(_ route: InspectorRoute) -> HTTPRoute {
        let (method, path) = (route.described.method, route.described.path)
        return HTTPRoute(method, path, body: route.body.received) { _ in
            HTTPRoute.Handlers(
                admit: { head in
                    self.problem(of: head, needsToken: true).map { .refused(Self.answer($0)) }
                        ?? .admitted(mark: 0)
                },
                handle: { request, responder in self.answer(request, route, responder) })
        }
    }

    private func answer(
        _ request: HTTPRequest, _ route: InspectorRoute, _ responder: HTTPResponder
    ) -> HTTPResponse? {
        guard let permit = inFlight.begin("") else {
            return Self.answer(InspectorProblem(.serviceUnavailable, "too many requests are in flight"))
        }
        let parsed: InspectorRequest
        do throws(HTTPRefusal) { parsed = try InspectorRequest(request) } catch {
            return Self.answer(InspectorProblem(error.status, error.reason))
        }
        Task(executorPreference: executor) {
            defer { permit.release() }
            do {
                switch try await route.operation(parsed) {
                case .json(let json):
                    responder.respond(HTTPResponse(route.status, json: json, fields: Self.fields))
                case .none: responder.respond(HTTPResponse(.noContent, fields: Self.fields))
                case .stream(let head, let write):
                    // After an error the body is incomplete: the client has disconnected, or the source
                    // cannot be read.
                    let writer = responder.stream(head)
                    do { try await write(writer) } catch { return responder.abort() }
                    writer.finish()
                }
            } catch let problem as InspectorProblem {
                responder.respond(Self.answer(problem))
            } catch {
                self.logger.error(
                    "a request of the inspector page failed",
                    metadata: ["path": "\(route.described.path)", "error": "\(Self.cause(error))"])
                responder.respond(Self.answer(InspectorProblem(.internalServerError, "the server failed")))
            }
        }
        return nil
    }

    /// Returns the description of an error, or only its type when the description may contain customer text.
    private static func cause(_ error: any Error) -> String {
        (error as? StoreError)?.description ?? (error as? SystemError)?.description ?? "\(type(of: error))"
    }

    /// The fields of every answer below `/dev/v1`.
    static let fields = [
        (name: "Cache-Control", value: "no-store"), ("X-Content-Type-Options", "nosniff"),
    ]

    private static func answer(_ problem: InspectorProblem) -> HTTPResponse {
        HTTPResponse(
            problem.status, contentType: APIProblem.mediaType, body: problem.json,
            fields: fields + problem.fields)
    }
}
