import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerKit
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct StartTests {
    @Test func `no handler starts when the server's address is in use`() async throws {
        let taken = try ListeningSocket(.tcp(host: "127.0.0.1", port: 0))
        let address = taken.address
        let directory = TemporaryDirectory()
        let handler = ProvisionedHandler()
        var configuration = ServerConfiguration(
            mspID: "msp", secret: Secret.random(byteCount: 32),
            businesses: [
                BusinessConfiguration(
                    slug: "one", businessID: BusinessID("b"), name: "One",
                    handler: .builtin(name: handler.name, configuration: nil))
            ])
        configuration.listen = address
        configuration.dataDirectory = directory.file("data")
        func start() async throws -> [SocketAddress] {
            try await RunningServer(
                configuration: configuration, handlers: [handler], logger: LogCollector().logger
            ).start()
        }
        // The second start fails like the first, so the first has released the data directory.
        for _ in 1...2 {
            let error = await #expect(throws: SystemError.self) { _ = try await start() }
            #expect(error?.call == "bind \(address)")
        }
        #expect(!handler.isProvisioned)
        #expect(taken.address == address)
    }
}

/// Records whether it was started.
private final class ProvisionedHandler: HandlerFactory, LifecycleHandler {
    private let flag = Atomic(false)

    var name: String { "provisioned" }
    var isProvisioned: Bool { flag.load(ordering: .relaxed) }

    func make(configuration: JSONValue?) -> any Handler { self }
    func provision(_ host: HandlerHost) async throws { flag.store(true, ordering: .relaxed) }
}
