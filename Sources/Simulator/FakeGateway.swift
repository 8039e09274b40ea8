import BalloonHTTP
package import BalloonPOSIX
package import BalloonWire
package import BusinessMessages
package import Logging
import Synchronization

/// A fake of Apple's gateway on a loopback address; it can misbehave on request.
///
/// It accepts messages, and stores and decodes payloads. It checks tokens, headers and bodies as Apple
/// documents them. `GET /_simulator/messages` lists the accepted messages.
package final class FakeGateway: Sendable {
    private let mspID: String
    private let secret: Secret
    private let address: SocketAddress
    private let server: LoopbackServer
    private let memory: GatewayMemory
    private let jobs = Mutex<Task<Void, Never>?>(nil)

    /// Creates a gateway for one MSP that remembers the last `maximumMessages`; with port 0 the system
    /// chooses the port.
    ///
    /// It answers 404 to a `source-id` that is not in `businesses`, at `/decodePayload` 403; nil accepts every business.
    package init(
        mspID: String, secret: Secret, businesses: Set<BusinessID>? = nil,
        address: SocketAddress = .tcp(host: "127.0.0.1", port: 0),
        maximumMessages: Int = 10_000, logger: Logger
    ) {
        memory = GatewayMemory(maximumMessages: maximumMessages)
        if let businesses { memory.serve(businesses) }
        self.mspID = mspID
        self.secret = secret
        self.address = address
        server = LoopbackServer(logger: logger)
    }

    /// Starts serving and returns the bound address.
    ///
    /// After a stop, a new start uses the same address and keeps the recorded messages.
    /// Throws ``SimulatorError/addressNotLoopback``, or a ``SystemError`` when the address is in use.
    package func start() async throws -> SocketAddress {
        let (jobs, continuation) = AsyncStream.makeStream(of: GatewayJob.self)
        let endpoints = GatewayEndpoints(
            mspID: mspID, secret: secret, memory: memory, jobs: continuation)
        var limits = HTTPLimits()
        limits.maximumConnections = 1024
        // A query for messages waits up to a minute, so the timeout must be longer.
        limits.answerTimeout = .seconds(90)
        let bound = try await server.start(at: memory.address ?? address, endpoints.routes, limits: limits)
        memory.open(at: bound)
        self.jobs.withLock { $0 = Task { await run(jobs) } }
        return bound
    }

    /// Ends all waits, lets open requests finish within `grace`, then drops the remaining connections and
    /// stops.
    package func stop(within grace: Duration = .seconds(1)) async {
        guard let jobs = jobs.withLock({ $0.take() }) else { return }
        memory.close()
        jobs.cancel()
        await server.stop(within: grace)
        await jobs.value
    }

    /// `http://127.0.0.1:PORT`; nil before the start.
    package var origin: String? { memory.origin }

    /// The address for `gateway.url`, `http://127.0.0.1:PORT/v1`; nil before the start.
    package var baseURL: String? { memory.origin.map { $0 + "/v1" } }

    /// Accepts these businesses too; a gateway that accepted every business accepts only these from now on.
    package func serve(_ businesses: Set<BusinessID>) { memory.serve(businesses) }

    /// Misbehaves at the next `times` requests of `endpoint`; rules that were added earlier apply first.
    package func misbehave(at endpoint: GatewayEndpoint, _ misbehaviour: Misbehaviour, times: Int = 1) {
        memory.add(MisbehaviourRule(endpoint, misbehaviour, times: times))
    }

    /// Adds a rule; of several rules for an endpoint the first that is not used up applies.
    package func misbehave(_ rule: MisbehaviourRule) { memory.add(rule) }

    /// Removes all rules.
    package func behave() { memory.removeRules() }

    /// The rules that still apply, in their order.
    package var rules: [MisbehaviourRule] { memory.rules }

    /// Replaces all rules.
    package func replaceRules(by rules: [MisbehaviourRule]) { memory.replaceRules(by: rules) }

    /// The recorded requests about a message, oldest first.
    ///
    /// The gateway records its newest 5,000 requests, at most 64 MiB of them.
    package func exchanges(about id: MessageID) -> [GatewayExchange] { memory.exchanges(about: id) }

    /// Calls `action`, which must not block, after each later request about a message; replaces an earlier
    /// action.
    package func whenAnswered(_ action: @escaping @Sendable (GatewayExchange) -> Void) {
        memory.whenAnswered(action)
    }

    /// The newest recorded message for a customer; nil without one.
    package func lastMessage(for customer: CustomerID) -> DeliveredMessage? {
        memory.lastMessage(for: customer)
    }

    /// The number of requests that `endpoint` received, including refused ones.
    package func requestCount(_ endpoint: GatewayEndpoint) -> Int { memory.requestCount(endpoint) }

    /// The recorded messages for `customer`, or for all customers, in the order of arrival.
    package func messages(for customer: CustomerID? = nil) -> [DeliveredMessage] {
        memory.messages(after: 0, customer: customer).found
    }

    /// Waits until at least `count` messages with numbers above `number` have arrived, or until the timeout.
    ///
    /// Returns all of them, which are fewer than `count` after a timeout.
    package func waitForMessages(
        count: Int = 1, customer: CustomerID? = nil, after number: Int = 0,
        within duration: Duration = .seconds(300)
    ) async -> [DeliveredMessage] {
        await memory.messages(count: count, after: number, customer: customer, within: duration)
    }

    /// Stores `interactiveData`, one JSON object, for `business`, and returns the reference to it.
    package func register(
        interactiveData: JSONValue, for business: BusinessID
    ) throws(WireError) -> SimulatedReference {
        let payload = try StoredPayload(
            SimulatedPayload(business: business, interactiveData: interactiveData))
        memory.store(payload)
        return payload.reference
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
