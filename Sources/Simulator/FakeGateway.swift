import BalloonHTTP
package import BalloonPOSIX
package import BalloonWire
package import BusinessMessages
package import Logging
import Synchronization

/// A fake of Apple's gateway on a loopback address; it can misbehave on request.
///
/// It accepts messages, and stores and decodes payloads. It checks tokens, headers and bodies as Apple
/// documents them. `GET /_simulator/messages` lists the accepted messages. It remembers a bounded number of
/// messages and payloads: beyond a limit the oldest are dropped.
package final class FakeGateway: Sendable {
    struct State {
        var messages = Deque<DeliveredMessage>()
        var messageBytes = 0
        var lastNumber = 0
        /// The number of each recorded message, by message id.
        var numbers: [MessageID: Int] = [:]
        var payloads: [String: StoredPayload] = [:]
        var payloadOrder = Deque<String>()
        var payloadBytes = 0
        var places: [String: UploadPlace] = [:]
        var rules: [MisbehaviourRule] = []
        var requestCounts: [GatewayEndpoint: Int] = [:]
        var address: SocketAddress?
        /// The businesses of the MSP; nil accepts every business.
        var businesses: Set<BusinessID>?
        var isOpen = false
        var exchanges = GatewayExchanges()
        var didAnswer: (@Sendable (GatewayExchange) -> Void)?
    }

    let state = Mutex(State())
    let waiters = ChangeWaiters()

    let mspID: String
    let secret: Secret
    let maximumMessages: Int
    private let server: LoopbackServer
    private let jobs = Mutex<Task<Void, Never>?>(nil)

    /// Creates a gateway for one MSP that remembers the last `maximumMessages`.
    ///
    /// It answers 404 to a `source-id` that is not in `businesses`, at `/decodePayload` 403; nil accepts every business.
    package init(
        mspID: String, secret: Secret, businesses: Set<BusinessID>? = nil,
        maximumMessages: Int = 10_000, logger: Logger
    ) {
        self.mspID = mspID
        self.secret = secret
        self.maximumMessages = maximumMessages
        server = LoopbackServer(logger: logger)
        if let businesses { serve(businesses) }
    }

    /// Starts serving and returns the bound address, whose port the system chooses.
    ///
    /// After a stop, a new start uses the same address and keeps the recorded messages.
    /// Throws a ``SystemError`` when the address is in use.
    package func start() async throws -> SocketAddress {
        let (jobs, continuation) = AsyncStream.makeStream(of: GatewayJob.self)
        // The routes hold the gateway until it stops.
        let endpoints = GatewayEndpoints(gateway: self, jobs: continuation)
        var limits = HTTPLimits()
        limits.maximumConnections = 1024
        // A query for messages waits up to a minute, so the timeout must be longer.
        limits.answerTimeout = .seconds(90)
        let bound = try await server.start(
            endpoints.routes, port: state.withLock { $0.address?.port } ?? 0, limits: limits)
        state.withLock { state in
            state.isOpen = true
            state.address = bound
        }
        self.jobs.withLock { $0 = Task { await run(jobs) } }
        return bound
    }

    /// Ends all waits, lets open requests finish within a second, then drops the remaining connections and
    /// stops.
    package func stop() async {
        guard let jobs = jobs.withLock({ $0.take() }) else { return }
        state.withLock { $0.isOpen = false }
        waiters.wakeAll()
        jobs.cancel()
        await server.stop()
        await jobs.value
    }

    /// `http://127.0.0.1:PORT`; nil before the start.
    package var origin: String? { state.withLock(\.address).map { "http://\($0)" } }

    /// The address for `gateway.url`, `http://127.0.0.1:PORT/v1`; nil before the start.
    package var baseURL: String? { origin.map { $0 + "/v1" } }

    /// Accepts these businesses too; a gateway that accepted every business accepts only these from now on.
    package func serve(_ businesses: Set<BusinessID>) {
        state.withLock { $0.businesses = businesses.union($0.businesses ?? []) }
    }

    func serves(_ business: BusinessID) -> Bool {
        state.withLock { $0.businesses?.contains(business) ?? true }
    }

    /// Misbehaves at the next `times` requests of `endpoint`; rules that were added earlier apply first.
    package func misbehave(at endpoint: GatewayEndpoint, _ misbehaviour: Misbehaviour, times: Int = 1) {
        misbehave(MisbehaviourRule(endpoint, misbehaviour, times: times))
    }

    /// Adds a rule; of several rules for an endpoint the first that is not used up applies.
    package func misbehave(_ rule: MisbehaviourRule) { state.withLock { $0.rules.append(rule) } }

    /// Removes all rules.
    package func behave() { replaceRules(by: []) }

    /// The rules that still apply, in their order.
    package var rules: [MisbehaviourRule] { state.withLock { $0.rules } }

    /// Replaces all rules.
    package func replaceRules(by rules: [MisbehaviourRule]) { state.withLock { $0.rules = rules } }

    /// Counts a request and returns the misbehaviour that applies to it.
    func begin(_ endpoint: GatewayEndpoint) -> Misbehaviour? {
        state.withLock { state in
            state.requestCounts[endpoint, default: 0] += 1
            let due = state.rules.firstIndex { $0.endpoint == endpoint && $0.isLeft }
            guard let due, state.rules[due].isDue() else { return nil }
            defer { state.rules.removeAll { !$0.isLeft } }
            return state.rules[due].misbehaviour
        }
    }

    /// The recorded requests about a message, oldest first.
    ///
    /// The gateway records its newest 5,000 requests, at most 64 MiB of them.
    package func exchanges(about id: MessageID) -> [GatewayExchange] {
        state.withLock { $0.exchanges.about(id) }
    }

    /// Records a request about a message, with its answer.
    func add(_ exchange: GatewayExchange) {
        let didAnswer = state.withLock { state in
            state.exchanges.append(exchange)
            return state.didAnswer
        }
        didAnswer?(exchange)
    }

    /// Calls `action`, which must not block, after each later request about a message; replaces an earlier
    /// action.
    package func whenAnswered(_ action: @escaping @Sendable (GatewayExchange) -> Void) {
        state.withLock { $0.didAnswer = action }
    }

    /// The number of requests that `endpoint` received, including refused ones.
    package func requestCount(_ endpoint: GatewayEndpoint) -> Int {
        state.withLock { $0.requestCounts[endpoint] ?? 0 }
    }
}

/// Work that continues after a request's handler returned, such as a delayed answer.
typealias GatewayJob = @concurrent @Sendable () async -> Void

/// Runs jobs concurrently until its task is cancelled; then cancels the running jobs and waits for them.
private func run(_ jobs: AsyncStream<GatewayJob>) async {
    await withDiscardingTaskGroup { group in
        for await job in jobs { group.addTask(operation: job) }
        group.cancelAll()
    }
}
