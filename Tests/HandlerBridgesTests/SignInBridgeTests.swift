import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageServer
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

/// Signing in through handlers outside the process, for devices of both versions.
struct SignInBridgeTests {
    private static let program = Fixture.directory + "/handlers/signin.py"
    private static let request = #"{"signIn":{"receivedMessage":{"title":"Sign in"}}}"#

    /// A server whose first business has this binding, and the provider.
    private func start(_ binding: String) async throws -> SignInUnderTest {
        try await SignInUnderTest.start { authentication in
            try await ServerUnderTest(bindings: [binding]) { configuration in
                configuration.businesses[0].authentication = authentication
            }
        }
    }

    private func signIn(_ test: SignInUnderTest) async throws {
        for device in [nil, SignInUnderTest.classic] {
            let customer = test.customer(device)
            let message = try await test.ask(customer)
            #expect((message.oauth2?["responseEncryptionKey"] == nil) == (device == nil))
            let outcome = try await test.signIn(customer, message)
            let text = try await test.report(outcome, customer, message)
            #expect(text == "signedIn user-alice alice@example.com")
        }
        #expect(try await eventually { try test.areForgotten() })
        await test.stop(secrets: ["user-alice"] + Array(test.provider.secrets))
    }

    @Test(arguments: ["", #", "later""#])
    func `a program asks with its answer or with reply, and gets the identity`(argument: String) async throws
    {
        try await signIn(try await start(#"{"exec": ["\#(Self.program)"\#(argument)]}"#))
    }

    @Test func `a service over HTTP asks, and gets the identity`() async throws {
        try await withService { try await signIn(try await start($0)) }
    }

    /// Runs `body` with the binding of a service that asks each customer to sign in, and answers with the result.
    private func withService(_ body: (_ binding: String) async throws -> Void) async throws {
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            // The service is the test's own, and is called with JSON only.
            let event = (try? JSONDocument(Array(request.body)))?.root["event"]
            guard event?["kind"]?.string == "authentication" else {
                return HTTPResponse(.ok, json: Array(#"{"replies":[\#(Self.request)]}"#.utf8))
            }
            let result = event?["signIn"]
            let words = [result?["result"], result?["subject"], result?["claims"]?["email"]]
            let text = words.compactMap { $0?.string }.joined(separator: " ")
            return HTTPResponse(.ok, json: Array(#"{"replies":["\#(text)"]}"#.utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/hook"
        try await body(#"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}}}"#)
        await service.stop(within: .zero)
    }

    /// A person takes the conversation of a customer, asks with `balloon send`, and reads the result in the conversation;
    /// the handler gets no event of it.
    private func askAsPerson(_ binding: String) async throws {
        let test = try await start(
            #"{"handler": \#(binding), "people": {"text": "A colleague answers soon."}}"#)
        for device in [nil, SignInUnderTest.classic] {
            let customer = test.customer(device)
            _ = try await test.ask(customer)
            let request = SendRequest(
                business: customer.business, customer: customer.id,
                message: try JSONDocument(Array(Self.request.utf8)), files: [], wait: .seconds(50),
                person: Person(id: "ana"))
            #expect(try await test.server.control("/send", method: "POST", body: request.json).status == 200)
            let message = try #require(
                await test.server.gateway.waitForMessages(count: 2, customer: customer.id).last?.message)
            try await test.post(try await test.signIn(customer, message), customer, message)
            let results = { try test.server.conversation(of: customer).compactMap(\.signIn) }
            #expect(try await eventually { try !results().isEmpty })
            #expect(try results().map(\.result) == ["signedIn"])
            #expect(test.server.gateway.messages(for: customer.id).count == 2)
        }
        await test.stop(secrets: ["user-alice"] + Array(test.provider.secrets))
    }

    @Test func `balloon send asks while a person has the conversation of a program or a service`()
        async throws
    {
        try await askAsPerson(#"{"exec": ["\#(Self.program)"]}"#)
        try await withService(askAsPerson)
    }
}
