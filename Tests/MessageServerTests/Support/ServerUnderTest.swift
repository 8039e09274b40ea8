import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Glibc
import HandlerKit
import Logging
import MessageStore
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// A server with a fake gateway and test customers: over loopback, in its own directory.
final class ServerUnderTest: Sendable {
    static let mspID = "11111111-2222-3333-4444-555555555555"
    static let business = BusinessID("5a6b7c8d-0000-4000-8000-000000000002")
    static let otherBusiness = BusinessID("5a6b7c8d-0000-4000-8000-000000000003")

    let directory: TemporaryDirectory
    let secret: Secret
    let gateway: FakeGateway
    let transport: CurlTransport
    let log = LogCollector()
    let stages = StageCollector()
    private let server: Mutex<RunningServer?>
    private let address = Mutex<String>("")

    /// Starts both; `handler` serves both businesses.
    init(
        _ handler: any Handler = RecordingHandler(), directory: TemporaryDirectory = TemporaryDirectory(),
        limits: ServerLimits = ServerLimits(), retries: RetrySchedule = RetrySchedule(),
        http: HTTPLimits = HTTPLimits(),
        disk: any StoreDisk = SystemDisk(), attachments: (inout AttachmentSettings) -> Void = { _ in },
        settings: (inout ServerConfiguration) -> Void = { _ in }
    ) async throws {
        self.directory = directory
        secret = Secret.random(byteCount: 32)
        gateway = FakeGateway(mspID: Self.mspID, secret: secret, logger: log.logger)
        transport = try CurlTransport()
        server = Mutex(nil)
        let gatewayAddress = try await gateway.start()
        var configuration = ServerConfiguration(
            mspID: Self.mspID, secret: secret,
            businesses: [("one", Self.business), ("two", Self.otherBusiness)].map {
                BusinessConfiguration(
                    slug: $0, businessID: $1, name: $0,
                    handler: .builtin(name: "test", configuration: nil))
            })
        configuration.listen = .tcp(host: "127.0.0.1", port: 0)
        configuration.dataDirectory = directory.file("data")
        configuration.gateway.url = try #require(gateway.baseURL)
        configuration.gateway.downloadHosts = ["\(gatewayAddress)"]
        configuration.limits = limits
        configuration.retrySchedule = retries
        configuration.http = http
        attachments(&configuration.attachments)
        settings(&configuration)
        let running = try RunningServer(
            configuration: configuration, handlers: [FixedFactory(handler: handler)], logger: log.logger,
            observer: stages.and(LogObserver(log.logger)), disk: disk)
        let bound = try await running.start()
        server.withLock { $0 = running }
        address.withLock { $0 = "http://\(bound[0])" }
    }

    var url: String { address.withLock { $0 } }

    /// A customer with a new opaque id.
    func customer(
        _ id: String = "urn:mbid:AQAA\(UInt64.random(in: 0 ... .max))+/=", to business: BusinessID = business
    ) -> SimulatedCustomer {
        SimulatedCustomer(
            id: CustomerID(id), business: business, server: url, mspID: Self.mspID, secret: secret,
            gateway: gateway.origin, transport: transport)
    }

    /// Drains and stops both, and searches the log for secrets.
    func stop(secrets: [String] = []) async {
        if let server = server.withLock({ $0 }) { await server.stop(within: .seconds(60)) }
        await gateway.stop()
        let all = secrets + [Base64.encode(secret.bytes), "urn:mbid:", "Bearer"]
        for line in log.lines {
            for secret in all { #expect(!line.contains(secret), "a log line has a secret: \(secret)") }
        }
    }

    /// Stops only the server; false when work remained unfinished.
    func stopServer(within limit: Duration) async -> Bool? {
        await server.withLock { $0 }?.stop(within: limit)
    }

    var leftover: Leftover? { server.withLock { $0 }?.leftover }

    func conversation(of customer: SimulatedCustomer) throws -> [ConversationLine] {
        try ConversationFiles(dataDirectory: directory.file("data")).lines(of: customer.business, customer.id)
    }

    /// Every line of the journal, as text.
    func journal() -> String {
        let folder = directory.file("data/journal")
        var text = ""
        for name in (try? Directory.names(in: folder)) ?? [] {
            text += String(decoding: (try? readFile(folder + "/" + name)) ?? [], as: UTF8.self)
        }
        return text
    }
}

private func readFile(_ path: String) throws -> [UInt8] {
    let descriptor = Descriptor(owning: open(path, O_RDONLY))
    var bytes: [UInt8] = []
    while try descriptor.read(onto: &bytes, maximumBytes: 65536) > 0 {}
    return bytes
}

private struct FixedFactory: HandlerFactory {
    let handler: any Handler
    var name: String { "test" }
    func make(configuration: JSONValue?) -> any Handler { handler }
}

/// Records every stage event.
final class StageCollector: StageObserver {
    private let collected = Mutex<[StageEvent]>([])

    var events: [StageEvent] { collected.withLock { $0 } }
    func observe(_ event: StageEvent) { collected.withLock { $0.append(event) } }

    func and(_ other: any StageObserver) -> any StageObserver { Both(first: self, second: other) }

    private struct Both: StageObserver {
        let first: any StageObserver
        let second: any StageObserver
        func observe(_ event: StageEvent) {
            first.observe(event)
            second.observe(event)
        }
    }
}
