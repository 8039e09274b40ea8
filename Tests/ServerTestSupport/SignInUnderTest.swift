package import BalloonJSON
import BalloonPOSIX
package import BalloonTransport
import BalloonWire
package import BusinessMessages
package import MessageServer
import SignIn
package import Simulator
import TestSupport
import Testing

/// A server whose first business has the fake provider, for devices of both versions.
package struct SignInUnderTest: Sendable {
    package let provider: FakeProvider
    package let server: ServerUnderTest

    package static let auditToken = "audit-secret-1"
    package static let secrets = ["client-secret-2", "classic-secret-1", auditToken]

    /// The capabilities of a device that signs in with version 1 only.
    package static let classic = Capabilities([.quickReply, .listPicker, .timePicker, .authentication])

    /// Starts the provider, then the server that `serve` makes with its configuration.
    package static func start(
        adjust: (inout AuthenticationConfiguration) -> Void = { _ in },
        serve: (AuthenticationConfiguration) async throws -> ServerUnderTest
    ) async throws -> SignInUnderTest {
        let log = LogCollector()
        let provider = try FakeProvider(
            clients: [
                "balloon": Secret(Array(secrets[0].utf8)), "classic": Secret(Array(secrets[1].utf8)),
            ], signing: .es256, logger: log.logger)
        _ = try await provider.start()
        var authentication = try authentication(at: provider.issuer ?? "")
        adjust(&authentication)
        return SignInUnderTest(provider: provider, server: try await serve(authentication))
    }

    /// The configuration of a business whose provider is at a loopback address.
    package static func authentication(at issuer: String) throws -> AuthenticationConfiguration {
        var client = Provider(
            issuer: issuer, clientID: "balloon",
            clientAuthentication: .post(try Secret(Array(secrets[0].utf8))), scope: ["openid", "email"])
        client.allowsLoopback = true
        client.classic = ClassicClient(
            clientID: "classic", clientSecret: try Secret(Array(secrets[1].utf8)),
            introspectionURL: issuer + "/introspect")
        var authentication = AuthenticationConfiguration(provider: client)
        authentication.auditToken = try Secret(Array(auditToken.utf8))
        return authentication
    }

    /// A customer whose device has these capabilities; nil for a current one.
    package func customer(_ capabilities: Capabilities? = nil) -> SimulatedCustomer {
        var customer = server.customer()
        if let capabilities { customer.capabilities = capabilities }
        return customer
    }

    /// Writes a text, and returns the message that the server answers with.
    package func ask(_ customer: SimulatedCustomer) async throws -> JSONDocument {
        #expect(try await customer.post(customer.message(.text, text: "Hello")).status == 200)
        let messages = await server.gateway.waitForMessages(customer: customer.id)
        return try #require(messages.first?.message)
    }

    /// Signs in on the device as a message asks, without Apple's event.
    package func signIn(
        _ customer: SimulatedCustomer, _ message: JSONDocument, user: String = "alice", declines: Bool = false
    ) async throws -> DeviceSignIn.Outcome {
        let isClassic = message.oauth2?["redirectURI"] == nil
        var account = DeviceSignIn.Account(user: user)
        account.declines = declines
        let issuer = provider.issuer ?? ""
        let registration = DeviceSignIn.Registration(
            authorizationURL: issuer + "/authorize", tokenURL: issuer + "/token",
            clientID: isClassic ? "classic" : "balloon")
        let device = try DeviceSignIn(to: message, at: registration, as: account, customer: customer.id)
        return try await device.run(over: server.transport)
    }

    /// Posts Apple's event about a sign-in.
    package func post(
        _ outcome: DeviceSignIn.Outcome, _ customer: SimulatedCustomer, _ message: JSONDocument
    ) async throws {
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome)
        #expect(try await customer.post(customer.message(completing: event.json)).status == 200)
    }

    /// Posts Apple's event about a sign-in, and returns the text that the handler answers with.
    package func report(
        _ outcome: DeviceSignIn.Outcome, _ customer: SimulatedCustomer, _ message: JSONDocument,
        replies: Int = 2
    ) async throws -> String? {
        try await post(outcome, customer, message)
        return await server.gateway.waitForMessages(count: replies, customer: customer.id).last?
            .message.root["body"]?.string
    }

    /// Signs in at the provider's form, and returns the query of its callback: `code=…&state=…&iss=…`.
    package func query(for message: JSONDocument, user: String = "alice") async throws -> String {
        try await Self.query(for: message, at: provider, over: server.transport, user: user)
    }

    /// Signs in at the form of `provider`, and returns the query of its callback.
    package static func query(
        for message: JSONDocument, at provider: FakeProvider, over transport: CurlTransport,
        user: String = "alice"
    ) async throws -> String {
        let oauth2 = try #require(message.oauth2)
        let scope = oauth2["scope"]?.elements.compactMap(\.string).joined(separator: "%20") ?? ""
        let fields = [
            "client_id=balloon", "response_type=code", "username=\(user)", "scope=\(scope)",
            "redirect_uri=\(oauth2["redirectURI"]?.string ?? "")", "state=\(oauth2["state"]?.string ?? "")",
            oauth2["additionalParameters"]?.string ?? "",
        ]
        let answer = try await transport.send(
            TransportRequest(
                method: "POST", url: (provider.issuer ?? "") + "/authorize",
                body: Array(fields.joined(separator: "&").utf8), allowsPlainHTTP: true))
        let location = try #require(answer.header("location"))
        return String(location.drop { $0 != "?" }.dropFirst())
    }

    /// Opens a path of the server as a browser does, without following redirects.
    package func browse(_ path: String, form: String? = nil) async throws -> TransportResponse {
        var request = TransportRequest(
            method: form == nil ? "GET" : "POST", url: server.url + path, body: Array((form ?? "").utf8),
            allowsPlainHTTP: true)
        if form != nil { request.headers = [("content-type", "application/x-www-form-urlencoded")] }
        return try await server.transport.send(request)
    }

    /// The paths of the files of open requests.
    package func requestFiles() throws -> [String] {
        let folder = server.directory.file("data/requests")
        guard try Directory.holds(folder) else { return [] }
        return try Directory.names(in: folder).flatMap { prefix in
            // Other names are those of files that the server is writing at the moment.
            try Directory.names(in: folder + "/" + prefix).filter { $0.hasSuffix(".json") }
                .map { folder + "/" + prefix + "/" + $0 }
        }
    }

    /// The files of open requests.
    package func requests() throws -> [JSONDocument] {
        try requestFiles().map { try JSONDocument(File($0, for: .reading).readAll()) }
    }

    /// Whether the files of the requests have neither a secret nor a result any more.
    package func areForgotten() throws -> Bool {
        try requests().allSatisfy {
            $0.root["payload"] == nil && $0.root["result"] == nil && $0.root["confirmation"] == nil
        }
    }

    /// Replaces the private number in the file of the only open request, so that a known token opens.
    package func replaceScalar(by scalar: String) async throws {
        try await changeRequests(in: "open") { request in
            let payload = try #require(request["payload"])
            return ["payload": payload.replacing(members: ["scalar": Array("\"\(scalar)\"".utf8)])]
        }
    }

    /// Replaces members in the files of the requests, as soon as one is in this phase.
    package func changeRequests(
        in phase: String, _ change: (JSONValue) throws -> [String: [UInt8]]
    ) async throws {
        // The server writes the file once more when the gateway has accepted the message.
        try #require(
            await eventually { try requests().contains { $0.root["phase"]?.string == phase } })
        for path in try requestFiles() {
            let request = try JSONDocument(File(path, for: .reading).readAll()).root
            try AtomicFile.write(request.replacing(members: try change(request)), to: path)
        }
    }

    /// Every byte of the files under the data directory.
    package func everything() throws -> String { try Self.everything(under: server.directory.file("data")) }

    private static func everything(under directory: String) throws -> String {
        try Directory.names(in: directory).reduce(into: "") { text, name in
            let path = directory + "/" + name
            if Directory.isDirectory(path) {
                text += try everything(under: path)
            } else if !name.hasSuffix(".sock") && !name.hasSuffix(".new") {
                text += String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
            }
        }
    }

    /// Stops everything, and searches the log for the clients' secrets and for `secrets`.
    package func stop(secrets: [String] = []) async {
        await server.stop(secrets: Self.secrets + secrets)
        await provider.stop()
    }
}

extension JSONDocument {
    /// The parameters of a sign-in message.
    package var oauth2: JSONValue? { root["interactiveData"]?["data"]?["authenticate"]?["oauth2"] }
}
