import BalloonHTTP
package import BalloonJSON
package import BalloonPOSIX
package import BalloonWire
package import BusinessMessages
package import Logging
import Synchronization

/// Apple's gateway on a loopback address: takes messages, keeps payloads, decodes them, and misbehaves when told to.
///
/// It checks tokens, headers and bodies as Apple documents it. What it was sent shows at `GET /_simulator/messages`.
package final class FakeGateway: Sendable {
    private struct Running: Sendable {
        let server: HTTPServer
        let jobs: Task<Void, Never>
    }

    private let mspID: String
    private let secret: Secret
    private let address: SocketAddress
    private let logger: Logger
    private let memory: GatewayMemory
    private let running = Mutex<Running?>(nil)

    /// Makes a gateway that knows one MSP and remembers the last `maximumMessages`; port 0 lets the system choose.
    package init(
        mspID: String, secret: Secret, address: SocketAddress = .tcp(host: "127.0.0.1", port: 0),
        maximumMessages: Int = 10_000, logger: Logger
    ) {
        memory = GatewayMemory(maximumMessages: maximumMessages)
        self.mspID = mspID
        self.secret = secret
        self.address = address
        self.logger = logger
    }

    /// Begins to serve, and returns the bound address.
    ///
    /// After a stop it is the same address as before, and what was remembered is still there.
    /// Throws ``SimulatorError/addressNotLoopback``, or a ``SystemError`` when the address is in use.
    package func start() async throws -> SocketAddress {
        guard address.isLoopback else { throw SimulatorError.addressNotLoopback }
        let (jobs, continuation) = AsyncStream.makeStream(of: GatewayJob.self)
        let endpoints = GatewayEndpoints(mspID: mspID, secret: secret, memory: memory, jobs: continuation)
        var limits = HTTPLimits()
        limits.maximumConnections = 1024
        // A question for messages waits for a minute at most.
        limits.answerTimeout = .seconds(90)
        let server = try HTTPServer(
            listeners: [HTTPListener(memory.address ?? address, routes: endpoints.routes, limits: limits)],
            shards: 1,
            logger: logger)
        let bound = try await server.start()[0]
        memory.open(at: bound)
        let task = Task { await run(jobs) }
        running.withLock { $0 = Running(server: server, jobs: task) }
        return bound
    }

    /// Ends all waiting, lets requests under way finish within `grace`, drops the connections of the others, and stops serving.
    package func stop(within grace: Duration = .seconds(1)) async {
        guard let running = running.withLock({ $0.take() }) else { return }
        memory.close()
        running.jobs.cancel()
        await running.server.stop(within: grace)
        await running.jobs.value
    }

    /// `http://127.0.0.1:PORT`; nil before the start.
    package var origin: String? { memory.origin }

    /// The address for `gateway.url`, `http://127.0.0.1:PORT/v1`; nil before the start.
    package var baseURL: String? { memory.origin.map { $0 + "/v1" } }

    /// Does the next `times` requests of `endpoint` wrong, after those that were asked for before.
    package func misbehave(at endpoint: GatewayEndpoint, _ misbehaviour: Misbehaviour, times: Int = 1) {
        memory.add(MisbehaviourRule(endpoint, misbehaviour, times: times))
    }

    /// Does wrong what the rule says, from now on; of several for an endpoint the first that is not used up counts.
    package func misbehave(_ rule: MisbehaviourRule) { memory.add(rule) }

    /// Does everything right again.
    package func behave() { memory.removeRules() }

    /// How many requests `endpoint` has had, the refused ones too.
    package func requestCount(_ endpoint: GatewayEndpoint) -> Int { memory.requestCount(endpoint) }

    /// Every message that was taken for `customer`, or for anyone, in the order of arrival.
    package func messages(for customer: CustomerID? = nil) -> [DeliveredMessage] {
        memory.messages(after: 0, customer: customer).found
    }

    /// Waits until there are `count` messages after number `number`, and returns those that there are when time is over.
    package func waitForMessages(
        count: Int = 1, customer: CustomerID? = nil, after number: Int = 0,
        within duration: Duration = .seconds(120)
    ) async -> [DeliveredMessage] {
        await memory.messages(count: count, after: number, customer: customer, within: duration)
    }

    /// Keeps `interactiveData`, one JSON object, for `business`, and returns the reference to it.
    package func register(
        interactiveData: JSONValue, for business: BusinessID
    ) throws(WireError) -> SimulatedReference {
        let payload = try StoredPayload(
            SimulatedPayload(business: business, interactiveData: interactiveData))
        memory.store(payload)
        return payload.reference
    }
}

/// Work that outlives a handler's call: an answer that comes later.
typealias GatewayJob = @concurrent @Sendable () async -> Void

/// Runs jobs side by side until it is cancelled, and then until all have ended.
private func run(_ jobs: AsyncStream<GatewayJob>) async {
    await withDiscardingTaskGroup { group in
        for await job in jobs { group.addTask(operation: job) }
        group.cancelAll()
    }
}
