import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// Signing in while a person has the conversation: asked for over the API, and by `balloon send`.
struct SignInByPersonTests {
    private static let ana = #""person":{"id":"ana"}"#
    private static let request =
        #"{"signIn":{"receivedMessage":{"title":"Sign in"}},"fallback":"Please call us."}"#

    private func start(recordsSubject: Bool = false) async throws -> SignInUnderTest {
        try await SignInUnderTest(
            adjust: { $0.recordsSubject = recordsSubject },
            change: { configuration in
                configuration.adminListen = .required(.tcp(host: "127.0.0.1", port: 0))
                configuration.api = TestTokens.configuration
                configuration.businesses[0].people = PeopleConfiguration(text: "A colleague answers soon.")
            })
    }

    /// The last message to the customer, when there are `count`.
    private func message(
        _ count: Int, to customer: SimulatedCustomer, _ test: SignInUnderTest
    ) async throws -> JSONDocument {
        try #require(
            await test.server.gateway.waitForMessages(count: count, customer: customer.id).last?.message)
    }

    /// The result of the sign-in in the conversation.
    private func recorded(
        _ customer: SimulatedCustomer, _ test: SignInUnderTest, count: Int = 1
    ) async throws -> RecordedSignIn? {
        let lines = { try test.server.conversation(of: customer).filter { $0.signIn != nil } }
        #expect(try await eventually { try lines().count >= count })
        let line = try #require(try lines().last)
        #expect(line.direction == .inbound && line.kind == .authentication && line.message.kind == .object)
        return line.signIn
    }

    @Test(arguments: [nil, SignInUnderTest.classic], [false, true])
    func `a person's request over the API is answered for both versions, and the line has the result`(
        device: Capabilities?, recordsSubject: Bool
    ) async throws {
        let test = try await start(recordsSubject: recordsSubject)
        let customer = test.customer(device)
        _ = try await test.ask(customer)
        let path = "/v1/businesses/one/conversations/" + ConversationFiles.name(of: customer.id)
        let sent = try await test.server.api(
            path + "/messages", method: "POST", body: #"{"message":\#(Self.request),\#(Self.ana)}"#,
            headers: [("Idempotency-Key", "k1"), ("Prefer", "wait=50")])
        #expect(sent.status == 201)
        let message = try await message(2, to: customer, test)
        #expect(
            message.root["interactiveData"]?["data"]?["version"]?.string == (device == nil ? "2.0" : "1.0"))
        try await test.post(try await test.signIn(customer, message), customer, message)
        let signIn = try await recorded(customer, test)
        #expect(signIn?.result == "signedIn")
        #expect(signIn?.issuer == test.provider.issuer)
        #expect(signIn?.subject == (recordsSubject ? "user-alice" : nil))
        // The first request is still open, and the result of the second is removed at the end of its delivery.
        #expect(
            try await eventually {
                let requests = try test.requests()
                return requests.count { $0.root["payload"] != nil } == 1
                    && requests.allSatisfy { $0.root["result"] == nil }
            })
        #expect(test.server.gateway.messages(for: customer.id).count == 2)
        let lines = try await test.server.api(path + "/messages").json["lines"]?.elements.map(\.self) ?? []
        #expect(lines.last?["signIn"]?["result"]?.string == "signedIn")
        #expect(lines.last?["files"]?.count == 0 && lines.last?["message"] == nil)
        // The file of the request that was answered is removed after the line is written.
        #expect(
            try await eventually { try test.everything().contains("user-alice") == recordsSubject })
        #expect(try !test.everything().contains("alice@example.com"))
        await test.stop(secrets: ["user-alice"] + Array(test.provider.secrets))
    }

    @Test func `a message of balloon send is answered while the conversation waits for a person`()
        async throws
    {
        let test = try await start()
        let customer = test.customer()
        _ = try await test.ask(customer)
        let request = SendRequest(
            business: customer.business, customer: customer.id,
            message: try JSONDocument(Array(Self.request.utf8)), files: [], wait: .seconds(50),
            person: Person(id: "ana"))
        let sent = try await test.server.control("/send", method: "POST", body: request.json)
        #expect(sent.status == 200)
        let message = try await message(2, to: customer, test)
        let path = "/v1/businesses/one/conversations/" + ConversationFiles.name(of: customer.id)
        let released = try await test.server.api(
            path + "/release", method: "POST", body: #"{"to":"waiting"}"#)
        #expect(released.status == 200)
        let cancelled = DeviceSignIn.Outcome.ended(status: "cancel", errorCode: nil)
        try await test.post(cancelled, customer, message)
        #expect(try await recorded(customer, test) == RecordedSignIn(result: "declined"))
        // The device's word alone proves nothing.
        let success = DeviceSignIn.Outcome.ended(status: "success", errorCode: nil)
        try await test.post(success, customer, test.firstMessage(to: customer))
        #expect(try await recorded(customer, test, count: 2) == RecordedSignIn(result: "unproven"))
        await test.stop()
    }
}

extension SignInUnderTest {
    /// The first message to the customer.
    fileprivate func firstMessage(to customer: SimulatedCustomer) async throws -> JSONDocument {
        try #require(await server.gateway.waitForMessages(customer: customer.id).first?.message)
    }
}
