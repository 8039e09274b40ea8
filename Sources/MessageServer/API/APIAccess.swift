import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import Synchronization

/// Holds the tokens and businesses of the business API, and counts the requests of each token.
///
/// A reload replaces the tokens and businesses in one step.
final class APIAccess: Sendable {
    fileprivate struct State {
        var configuration: APIConfiguration
        var businesses: [String: APIBusiness] {
            didSet { slugs = Self.slugs(of: businesses) }
        }
        private(set) var slugs: [BusinessID: String]
        var quotas: [String: RequestQuota] = [:]
        var failures = FailedAttempts(now: .now)

        init(_ configuration: APIConfiguration, _ businesses: [String: APIBusiness]) {
            self.configuration = configuration
            self.businesses = businesses
            slugs = Self.slugs(of: businesses)
        }

        private static func slugs(of businesses: [String: APIBusiness]) -> [BusinessID: String] {
            Dictionary(businesses.values.map { ($0.id, $0.slug) }) { min($0, $1) }
        }
    }

    private let state: Mutex<State>
    private let isSecure: Bool
    private let address: @Sendable () -> SocketAddress?

    /// Creates the access control of one listener; `address` returns the address that the listener is bound to.
    init(
        _ configuration: APIConfiguration, businesses: [BusinessConfiguration], isSecure: Bool,
        address: @escaping @Sendable () -> SocketAddress?
    ) {
        state = Mutex(State(configuration, Self.directory(businesses)))
        self.isSecure = isSecure
        self.address = address
    }

    /// Whether the API is served: at least one token is configured.
    var isServed: Bool { state.withLock { !$0.configuration.tokens.isEmpty } }

    /// Whether the inbox is served: it is enabled, and at least one token is configured.
    var hasInbox: Bool {
        state.withLock { $0.configuration.hasInbox && !$0.configuration.tokens.isEmpty }
    }

    /// Whether the header field `Host` names this listener's address or one of `api.hosts`.
    func isOwn(host: String?) -> Bool {
        let address = address()
        let names = state.withLock { $0.configuration.hosts }
        return APIGate.isOwn(host: host, listener: address, isSecure: isSecure, names: names)
    }

    /// The hosts by which `/metrics` and the details of `/readyz` may be read: every IP address, because a scraper of
    /// metrics names one, and `api.hosts`.
    var hostRule: HostRule { HostRule(.any, names: state.withLock { $0.configuration.hosts }) }

    /// The problem that answers a request whose `Host` names neither the listener nor one of `api.hosts`.
    static let misdirected = APIProblem(
        .misdirected, "name the listener's own address, or add the name to api.hosts")

    /// The businesses of a token, sorted by slug.
    func businesses(of token: APIToken) -> [APIBusiness] {
        state.withLock { $0.businesses.values.filter { token.mayName($0.slug) } }.sorted { $0.slug < $1.slug }
    }

    /// The slug of each business.
    var slugs: [BusinessID: String] { state.withLock { $0.slugs } }

    /// Replaces the tokens, origins, hosts and businesses; the caller then calls ``EventHub/endRemoved()``.
    func replace(with configuration: APIConfiguration, businesses: [BusinessConfiguration]) {
        state.withLock { state in
            state.configuration = configuration
            state.businesses = Self.directory(businesses)
            let names = Set(configuration.tokens.map(\.name))
            state.quotas = state.quotas.filter { names.contains($0.key) }
        }
    }

    /// Whether no reload has removed or changed the token.
    func isCurrent(_ token: APIToken) -> Bool { state.withLock { $0.configuration.tokens.contains(token) } }

    /// Checks the head of a request: host, token, rate limit, right and business, in this order.
    ///
    /// Adds what it finds to `facts`, also when it refuses the request. A request is checked again when its
    /// body has arrived. `counting` is false for that second check, so that the rate limit counts the request once.
    func examine(
        _ request: HTTPRequest, for operation: APIRoute, counting: Bool, _ facts: inout APIFacts
    ) throws(APIProblem) {
        let (host, origin) = (request.text(.host), request.text(.origin))
        let (address, now) = (address(), ContinuousClock.now)
        try state.withLock { state throws(APIProblem) in
            facts.fields += Self.originFields(origin, state.configuration)
            let names = state.configuration.hosts
            guard APIGate.isOwn(host: host, listener: address, isSecure: isSecure, names: names) else {
                throw Self.misdirected
            }
            let token = try state.token(of: request, now)
            facts.token = token
            facts.fields += try state.count(token, counting: counting, now)
            guard token.rights.contains(operation.right) else {
                throw APIProblem(
                    .rightMissing, "the operation requires the right \(operation.right.rawValue)")
            }
            guard let slug = request.parameter("slug") else { return }
            // A business that the token may not name is refused exactly like one that does not exist.
            guard let business = state.businesses[slug], token.mayName(slug) else {
                throw APIProblem(.notFound, "no business of this token has this slug")
            }
            facts.business = business
        }
    }

    /// Returns the CORS fields that let a web page of a configured origin read the answer.
    ///
    /// For any other origin it returns `Vary`, or nothing when no origin is configured.
    private static func originFields(
        _ origin: String?, _ configuration: APIConfiguration
    ) -> [(name: String, value: String)] {
        guard !configuration.origins.isEmpty else { return [] }
        let vary = (name: "Vary", value: "Origin")
        guard let origin, configuration.origins.contains(origin) else { return [vary] }
        let exposed = "ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, Content-Disposition"
        return [
            vary, ("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", exposed),
        ]
    }

    /// The header fields of the answer to a browser's CORS preflight request (WHATWG Fetch §4.8).
    func preflightFields(
        to request: HTTPRequest, methods: [HTTPMethod]
    ) -> [(name: String, value: String)] {
        let allowed = methods.map(\.rawValue).joined(separator: ", ")
        let fields = Self.originFields(request.text(.origin), state.withLock { $0.configuration })
        guard fields.contains(where: { $0.name == "Access-Control-Allow-Origin" }) else {
            return fields + [("Allow", allowed)]
        }
        let headers = """
            Authorization, Content-Type, Content-Digest, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, \
            Prefer, Range
            """
        return fields + [
            ("Allow", allowed), ("Access-Control-Allow-Methods", allowed),
            ("Access-Control-Allow-Headers", headers), ("Access-Control-Max-Age", "600"),
        ]
    }

    private static func directory(_ businesses: [BusinessConfiguration]) -> [String: APIBusiness] {
        let entries = businesses.map {
            ($0.slug, APIBusiness(slug: $0.slug, id: $0.businessID, name: $0.name))
        }
        return Dictionary(entries) { first, _ in first }
    }
}

extension APIAccess.State {
    /// Returns the configured token of a request; throws `unauthenticated` when it has none.
    ///
    /// Counts each failure by client address, and throws `too-many-failures` above ``FailedAttempts/limit``
    /// in a minute.
    fileprivate mutating func token(
        of request: HTTPRequest, _ now: ContinuousClock.Instant
    ) throws(APIProblem) -> APIToken {
        do throws(APIProblem) {
            return try APIGate.token(
                in: request.field(.authorization), isRepeated: request.isRepeated(.authorization),
                among: configuration.tokens)
        } catch {
            let attempts = failures.count(request.peer, now: now)
            guard attempts.isExceeded else { throw error }
            throw APIProblem(.tooManyFailures, retryAfter: attempts.resetSeconds)
        }
    }

    /// Counts a request of a token; returns the header fields that tell the client its remaining quota
    /// (draft-ietf-httpapi-ratelimit-headers-11).
    fileprivate mutating func count(
        _ token: APIToken, counting: Bool, _ now: ContinuousClock.Instant
    ) throws(APIProblem) -> [(name: String, value: String)] {
        let limit = configuration.requestsPerMinute
        var quota = quotas[token.name] ?? RequestQuota(now: now)
        let reading = quota.count(limit: limit, now: now, counting: counting)
        if counting { quotas[token.name] = quota }
        let fields: [(name: String, value: String)] = [
            ("RateLimit-Policy", "\"token\";q=\(limit);w=\(RequestQuota.window.components.seconds)"),
            ("RateLimit", "\"token\";r=\(reading.remaining);t=\(reading.resetSeconds)"),
        ]
        guard !reading.isExceeded else {
            throw fields.reduce(APIProblem(.tooManyRequests)) { $0.field($1.name, $1.value) }
                .field("Retry-After", "\(reading.resetSeconds)")
        }
        return fields
    }
}
