import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import MessageServer
import MessageStore
import ServerTestSupport
import SignIn
import Simulator
import TestSupport
import Testing

/// Asks each customer who writes to sign in, and greets by the result.
struct WelcomingHandler: TextHandler, AuthenticationHandler {
    func text(_: Text, _: Context) -> Outcome {
        .reply(.signIn(SignInRequest(OutboundBubble("Sign in"))).orText("Please call us."))
    }

    func authentication(_: Authentication, _ context: Context) -> Outcome {
        switch context.signIn {
        case .signedIn(let identity): .reply("welcome \(identity.subject)")
        case .unverified(let claims): .reply("unverified \(claims["email"]?.string ?? "nobody")")
        case .failed(let code): .reply("failed \(code)")
        case let result?: .reply(result.name)
        case nil: .reply("no result")
        }
    }
}

/// A server whose first business has the fake provider, for devices of both versions.
struct SignInUnderTest {
    let provider: FakeProvider
    let server: ServerUnderTest

    static let auditToken = "audit-secret-1"
    static let secrets = ["client-secret-2", "classic-secret-1", auditToken]

    /// The capabilities of a device that signs in with version 1 only.
    static let classic = Capabilities([.quickReply, .listPicker, .timePicker, .authentication])

    init(
        _ handler: any Handler = WelcomingHandler(), scope: [String] = ["openid", "email"],
        in directory: TemporaryDirectory = TemporaryDirectory(),
        change: (inout ServerConfiguration) -> Void = { _ in },
        adjust: (inout AuthenticationConfiguration) -> Void = { _ in }
    ) async throws {
        let secret = try Secret(Array(Self.secrets[0].utf8))
        let classicSecret = try Secret(Array(Self.secrets[1].utf8))
        let log = LogCollector()
        provider = try FakeProvider(
            clients: ["balloon": secret, "classic": classicSecret], signing: .es256, logger: log.logger)
        let issuer = "http://\(try await provider.start())"
        var client = Provider(
            issuer: issuer, clientID: "balloon", clientAuthentication: .post(secret), scope: scope)
        client.allowsLoopback = true
        client.classic = ClassicClient(
            clientID: "classic", clientSecret: classicSecret, introspectionURL: issuer + "/introspect")
        var authentication = AuthenticationConfiguration(provider: client)
        authentication.auditToken = try Secret(Array(Self.auditToken.utf8))
        adjust(&authentication)
        server = try await ServerUnderTest(handler, directory: directory) { configuration in
            configuration.businesses[0].authentication = authentication
            change(&configuration)
        }
    }

    /// A customer whose device has these capabilities; nil for a current one.
    func customer(_ capabilities: Capabilities? = nil) -> SimulatedCustomer {
        var customer = server.customer()
        if let capabilities { customer.capabilities = capabilities }
        return customer
    }

    /// Writes a text, and returns the message that the server answers with.
    func ask(_ customer: SimulatedCustomer) async throws -> JSONDocument {
        #expect(try await customer.post(customer.message(.text, text: "Hello")).status == 200)
        let messages = await server.gateway.waitForMessages(customer: customer.id)
        return try #require(messages.first?.message)
    }

    /// The provider as the device knows it.
    func registration(_ clientID: String) -> DeviceSignIn.Registration {
        let issuer = provider.issuer ?? ""
        return DeviceSignIn.Registration(
            authorizationURL: issuer + "/authorize", tokenURL: issuer + "/token", clientID: clientID)
    }

    /// Signs in on the device as a message asks, without Apple's event.
    func signIn(
        _ customer: SimulatedCustomer, _ message: JSONDocument, user: String = "alice", declines: Bool = false
    ) async throws -> DeviceSignIn.Outcome {
        let isClassic = message.oauth2?["redirectURI"] == nil
        var account = DeviceSignIn.Account(user: user)
        account.declines = declines
        let device = try DeviceSignIn(
            to: message, at: registration(isClassic ? "classic" : "balloon"), as: account,
            customer: customer.id)
        return try await device.run(over: server.transport)
    }

    /// Posts Apple's event about a sign-in, and returns the text that the handler answers with.
    func report(
        _ outcome: DeviceSignIn.Outcome, _ customer: SimulatedCustomer, _ message: JSONDocument,
        replies: Int = 2
    ) async throws -> String? {
        let event = DeviceAnswer(to: try DeviceOffer(message), reporting: outcome)
        #expect(try await customer.post(customer.message(completing: event.json)).status == 200)
        return await server.gateway.waitForMessages(count: replies, customer: customer.id).last?
            .message.root["body"]?.string
    }

    /// The number of files of open requests.
    func requestCount() throws -> Int {
        let folder = server.directory.file("data/requests")
        return try Directory.names(in: folder).reduce(0) { count, prefix in
            try count + Directory.names(in: folder + "/" + prefix).count
        }
    }

    /// Every byte of the files under the data directory.
    func everything() throws -> String {
        try Self.everything(under: server.directory.file("data"))
    }

    /// Every byte of the files under a directory.
    static func everything(under directory: String) throws -> String {
        try Directory.names(in: directory).reduce(into: "") { text, name in
            let path = directory + "/" + name
            if Directory.isDirectory(path) {
                text += try everything(under: path)
            } else if !name.hasSuffix(".sock") {
                text += String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
            }
        }
    }

    func stop(secrets: [String] = []) async {
        await server.stop(secrets: Self.secrets + secrets)
        await provider.stop()
    }
}

extension JSONDocument {
    /// The parameters of a sign-in message.
    var oauth2: JSONValue? { root["interactiveData"]?["data"]?["authenticate"]?["oauth2"] }
}
