import BalloonHTTP
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Dispatch
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// A 200 means "on disk": it waits for the sync, and a failed sync is answered with 503.
@Suite(.timeLimit(.minutes(10))) struct DurableAnswerTests {
    @Test func `a webhook is answered after the sync, not before`() async throws {
        let disk = HeldDisk()
        let webhook = try await Webhook(disk: disk)
        let hasAnswered = OnceFlag()
        let answer = Task {
            let response = try await webhook.customer.post(webhook.customer.message(.text))
            _ = hasAnswered.claim()
            return response.status
        }
        await disk.waitForSync()
        // The message is written and waits for the disk; an answer now would be a promise that a power cut breaks.
        #expect(hasAnswered.claim())
        disk.release()
        #expect(try await answer.value == 200)
        await webhook.stop()
    }

    @Test func `a failed sync is answered with 503, and the retry is stored`() async throws {
        let disk = HeldDisk()
        let webhook = try await Webhook(disk: disk)
        let message = webhook.customer.message(.text)
        let first = Task { try await webhook.customer.post(message) }
        await disk.waitForSync()
        disk.release(failing: true)
        let refused = try await first.value
        #expect(refused.status == 503)
        #expect(refused.header("retry-after") == "1")
        disk.stopHolding()
        #expect(try await webhook.customer.post(message).status == 200)
        await webhook.stop()
    }

    @Test func `messages over the limit of unfinished messages are answered with 503, until one finishes`()
        async throws
    {
        let webhook = try await Webhook(disk: SystemDisk()) { $0.maximumPendingDeliveries = 2 }
        let customer = webhook.customer
        for _ in 1...2 { #expect(try await customer.post(customer.message(.text)).status == 200) }
        let third = customer.message(.text)
        let refused = try await customer.post(third)
        #expect(refused.status == 503)
        #expect(refused.header("retry-after") == "1")
        let delivery = try #require(await webhook.store.nextDelivery(for: ServerUnderTest.business))
        try await webhook.store.finish(delivery, result: .handled)
        #expect(try await customer.post(third).status == 200)
        #expect(try await customer.post(customer.message(.text)).status == 503)
        await webhook.stop()
    }

    @Test func `a readiness check does not wait for the sync of conversations`()
        async throws
    {
        let disk = BlockingSyncDisk()
        let webhook = try await Webhook(disk: disk) { $0.checkpointInterval = .milliseconds(1) }
        let customer = webhook.customer
        #expect(try await customer.post(customer.message(.text)).status == 200)
        for await _ in disk.arrivals { break }
        #expect(try await webhook.readiness() == 200)
        // The sender of a message does not wait for the conversation's sync either.
        #expect(try await customer.post(customer.message(.text)).status == 200)
        disk.gate.signal()
        await webhook.stop()
    }

    @Test func `an unready server detects by itself that the disk works again`() async throws {
        let disk = HeldDisk()
        let webhook = try await Webhook(disk: disk)
        #expect(try await webhook.readiness() == 200)
        let refused = Task { try await webhook.customer.post(webhook.customer.message(.text)) }
        await disk.waitForSync()
        disk.release(failing: true)
        #expect(try await refused.value.status == 503)
        #expect(try await webhook.readiness() == 503)
        disk.stopHolding()
        // An unready server receives no messages, so none is posted here.
        let deadline = ContinuousClock.now + .seconds(60)
        while try await webhook.readiness() != 200, ContinuousClock.now < deadline {}
        #expect(try await webhook.readiness() == 200)
        // On a nearly full disk the next large message may be refused again.
        let journal = ReadinessChecks(store: webhook.store).readiness.checks.first { $0.name == "journal" }
        #expect(journal?.state == .degraded(reason: ReadinessFacts.recentDiskFailure))
        await webhook.stop()
    }
}

/// The ingest path alone: a socket, the pipeline and a store on a given disk.
private struct Webhook {
    let directory = TemporaryDirectory()
    let store: Store
    let http: HTTPServer
    let customer: SimulatedCustomer
    private let address: String
    private let transport: CurlTransport

    init(
        disk: any StoreDisk, _ change: (inout StoreConfiguration) -> Void = { _ in }
    ) async throws {
        let secret = Secret.random(byteCount: 32)
        var storeConfiguration = StoreConfiguration(directory: directory.file("data"))
        storeConfiguration.disk = disk
        storeConfiguration.probeInterval = .milliseconds(10)
        change(&storeConfiguration)
        let store = try Store.open(storeConfiguration, logger: LogCollector().logger)
        self.store = store
        store.startRecording { try store.write($0, as: .text) }
        let business = ServerUnderTest.business
        let route = WebhookRoute.make(
            CurrentConfiguration(
                ServerConfiguration(mspID: ServerUnderTest.mspID, secret: secret, businesses: [])),
            isServed: { $0 == business }, store: store, observer: StageCollector())
        http = try HTTPServer(
            listeners: [
                HTTPListener(
                    .tcp(host: "127.0.0.1", port: 0),
                    routes: [route]
                        + HealthRoutes.make(for: .everybody, checks: ReadinessChecks(store: store)))
            ], shards: 1,
            logger: LogCollector().logger)
        address = "http://\(try await http.start()[0])"
        transport = try CurlTransport()
        customer = SimulatedCustomer(
            id: CustomerID("urn:mbid:test"), business: business, server: address,
            mspID: ServerUnderTest.mspID, secret: secret, gateway: nil, transport: transport)
    }

    /// The status of `/readyz`.
    func readiness() async throws -> Int {
        try await transport.send(TransportRequest(url: address + "/readyz", allowsPlainHTTP: true)).status
    }

    func stop() async {
        await http.stop(within: .seconds(1))
        await store.close()
    }
}

/// A disk on which the first sync of a conversation waits for a signal.
private final class BlockingSyncDisk: StoreDisk {
    let gate = DispatchSemaphore(value: 0)
    let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let system = SystemDisk()
    private let held = Mutex<File?>(nil)

    init() { (arrivals, arrived) = AsyncStream.makeStream() }

    func create(_ path: String) throws(SystemError) -> File { try system.create(path) }

    func open(_ path: String) throws(SystemError) -> File {
        let file = try File(path, for: .appending)
        held.withLock { $0 = file }
        return file
    }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) { try system.append(bytes, to: file) }

    func synchronize(_ file: File) throws(SystemError) {
        let isHeld = held.withLock { held in
            defer { if held === file { held = nil } }
            return held === file
        }
        if isHeld {
            arrived.yield()
            gate.wait()
        }
        try system.synchronize(file)
    }
}

/// A disk whose first sync of a message waits until the test lets it succeed or fail.
private final class HeldDisk: StoreDisk {
    private let system = SystemDisk()
    private let isHolding = Atomic(true)
    private let isFailing = Atomic(false)
    private let gate = DispatchSemaphore(value: 0)
    private let arrivals: AsyncStream<Void>
    private let arrived: AsyncStream<Void>.Continuation
    private let messages = Mutex<Set<String>>([])

    init() { (arrivals, arrived) = AsyncStream.makeStream() }

    func create(_ path: String) throws(SystemError) -> File { try system.create(path) }

    func append(_ bytes: [UInt8], to file: File) throws(SystemError) {
        try system.append(bytes, to: file)
    }

    func write(_ bytes: [UInt8], to file: File, at offset: Int) throws(SystemError) {
        if String(decoding: bytes, as: UTF8.self).contains(#""type":"message""#) {
            messages.withLock { _ = $0.insert("waiting") }
        }
        try system.write(bytes, to: file, at: offset)
    }

    func synchronize(_ file: File) throws(SystemError) {
        let isMessage = messages.withLock { $0.remove("waiting") != nil }
        if isMessage, isHolding.load(ordering: .relaxed) {
            arrived.yield()
            gate.wait()
        }
        if isFailing.load(ordering: .relaxed) { throw SystemError("fdatasync", code: 5) }
        try system.synchronize(file)
    }

    func waitForSync() async { for await _ in arrivals { return } }

    func release(failing: Bool = false) {
        isFailing.store(failing, ordering: .relaxed)
        gate.signal()
    }

    func stopHolding() {
        isHolding.store(false, ordering: .relaxed)
        isFailing.store(false, ordering: .relaxed)
    }
}
