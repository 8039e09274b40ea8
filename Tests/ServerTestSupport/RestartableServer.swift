import BalloonJSON
import BalloonPOSIX
package import BalloonTransport
import BalloonWire
package import BusinessMessages
import MessageStore
package import Simulator
package import TestSupport
import Testing

/// A server that a test kills and starts again: its gateway, its configuration files and its data outlive each process.
///
/// It is separate from ``ServerUnderTest``, which runs in the tests' own process, because a kill must end a process.
package struct RestartableServer: Sendable {
    package let directory = TemporaryDirectory()
    package let gateway: FakeGateway
    package let transport: CurlTransport
    package let log = LogCollector()
    /// The path of the data directory.
    package let data: String
    private let program: String
    private let secret = Secret.random(byteCount: 32)

    /// Starts the gateway and writes the configuration of `program`, whose first business has the built-in `handler`.
    ///
    /// `settings` are further members of that business's file. There is a second business if it has a handler. The data
    /// directory is on `disk`, if there is one. The API is served when there is an `apiToken`, a SHA-256 in hexadecimal.
    package init(
        _ program: String = "CrashTestServer", handler: String = #"{"builtin": "token"}"#,
        settings: String = "", secondHandler: String? = nil, shutdownSeconds: Int = 25,
        disk: SmallDisk? = nil,
        apiToken: String? = nil
    ) async throws {
        data = (disk?.path ?? directory.path) + "/data"
        self.program = program
        transport = try CurlTransport()
        gateway = FakeGateway(
            mspID: ServerUnderTest.mspID, secret: secret, maximumMessages: 1_000_000, logger: log.logger)
        let address = try await gateway.start()
        try Directory.make(directory.file("businesses"))
        let api = apiToken.map {
            #", "api": {"tokens": [{"name": "test", "sha256": "\#($0)", "may": ["read", "send"]}], "requestsPerMinute": 1000000}"#
        }
        var files = [
            "secret": Base64.encode(secret.bytes),
            "server.json": """
            {"mspID": "\(ServerUnderTest.mspID)", "secret": {"file": "secret"}, "listen": "127.0.0.1:0",
             "adminListen": "\(apiToken == nil ? "off" : "127.0.0.1:0")"\(api ?? ""),
             "shutdownSeconds": \(shutdownSeconds), "dataDirectory": "\(data)",
             "gateway": {"url": "http://\(address)/v1", "downloadHosts": ["\(address)"]}}
            """,
            "businesses/one.json": """
            {"businessID": "\(ServerUnderTest.business)", "name": "One", "handler": \(handler)\(settings)}
            """,
        ]
        files["businesses/two.json"] = secondHandler.map {
            #"{"businessID": "\#(ServerUnderTest.business(1))", "name": "Two", "handler": \#($0)}"#
        }
        for (name, text) in files { try AtomicFile.write(Array(text.utf8), to: directory.file(name)) }
    }

    /// Starts a process; `behaviour` is a word that `CrashTestServer` defines.
    package func launch(
        _ behaviour: String? = nil, _ argument: String? = nil, environment: [String: String]? = nil
    ) throws -> ServerProcess {
        try ServerProcess(
            program: program,
            arguments: [directory.file("server.json")] + [behaviour, argument].compactMap(\.self),
            environment: environment)
    }

    /// Whether a server is writing a snapshot into the data directory.
    @Sendable package func isWritingSnapshot() -> Bool {
        // A folder that cannot be listed has no snapshot.
        let names = (try? Directory.names(in: data)) ?? []
        return names.contains { $0.hasPrefix("snapshot.") }
    }

    /// A customer of a business, the first unless another is given, who writes to this process.
    package func customer(
        _ server: ServerProcess, id: CustomerID = CustomerID("urn:mbid:AQAA+/="),
        business: BusinessID = ServerUnderTest.business
    ) -> SimulatedCustomer {
        SimulatedCustomer(
            id: id, business: business,
            server: "http://\(server.address ?? "")", mspID: ServerUnderTest.mspID, secret: secret,
            gateway: gateway.origin, transport: transport)
    }

    /// Waits until the running process has finished every delivery and every reply; false after ``WaitLimit``.
    package func isFinished() async throws -> Bool {
        try await eventually {
            let counts = try JSONDocument(
                try await transport.control("/statistics", dataDirectory: data).body
            )
            .root
            return counts["pendingDeliveries"]?.int == 0 && counts["queuedReplies"]?.int == 0
        }
    }

    /// Stops the process with SIGTERM, which must succeed, then the gateway.
    package func finish(_ server: ServerProcess) async {
        let status = await server.terminate()
        if status != 0 { Issue.record("the server ended with \(status)") }
        await gateway.stop()
    }
}
