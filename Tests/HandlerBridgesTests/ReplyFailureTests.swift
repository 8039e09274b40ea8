import BalloonHTTP
import BalloonJSON
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// Replies that Apple refuses, from the gateway's answer to what a handler outside the process says to that.
struct ReplyFailureTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    private func texts(_ server: ServerUnderTest, _ customer: SimulatedCustomer, count: Int) async -> [String]
    {
        await server.gateway.waitForMessages(count: count, customer: customer.id)
            .compactMap { $0.message.root["body"]?.string }
    }

    private func failures(_ server: ServerUnderTest) throws -> [JournalEvent.Status] {
        try JournalFiles(dataDirectory: server.directory.file("data"))
            .events(where: \.isReplyFailure).map(\.status)
    }

    @Test func `a child answers the failure of its reply, and remembers it`() async throws {
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["\#(Self.program)", "failures"]}"#])
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await texts(server, customer, count: 1) == ["sorry: text refused 400 1 refused"])
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let second = await texts(server, customer, count: 2)
        #expect(second.last?.hasPrefix("failed before: ") == true)
        await server.stop()
        #expect(try failures(server) == [.handled])
        #expect(
            try server.conversation(of: customer).compactMap(\.outcome) == [
                "refused", "accepted", "accepted",
            ])
    }

    @Test func `a failure that a child did not answer before a restart is answered after it`() async throws {
        let directory = TemporaryDirectory()
        let binding = { (config: String) in
            #"{"exec": ["\#(Self.program)", "failures"], "config": {\#(config)}}"#
        }
        let first = try await ServerUnderTest(bindings: [binding(#""refuses": true"#)], directory: directory)
        let customer = first.customer()
        first.gateway.misbehave(at: .message, .answer(.badRequest))
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await first.stages.first {
            if case .postponed = $0.result { $0.stage == .handle } else { false }
        }
        await first.stop()
        let second = try await ServerUnderTest(bindings: [binding("")], directory: directory)
        let sent = await texts(second, customer, count: 1)
        #expect(sent == ["sorry: text refused 400 1 refused"])
        await second.stop()
        #expect(try failures(second) == [.handled])
    }

    @Test func `a child that wants every kind is not told of failures`() async throws {
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["\#(Self.program)", "everything"]}"#])
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.stages.first { $0.stage == .reply }
        #expect(try await customer.post(customer.message(.text)).status == 200)
        #expect(await texts(server, customer, count: 1) == ["everything 1"])
        await server.stop()
        #expect(try failures(server).isEmpty)
    }

    @Test func `a service is told of failures when its events name them`() async throws {
        let request = { (events: String) throws in
            try HTTPBinder(environment: ["HOOK": ServiceHandlerTests.secret]).make(
                HandlerBindingRequest(
                    binding: try JSONDocument(
                        Array(
                            #"{"http":{"url":"https://a.example/","secret":{"env":"HOOK"}\#(events)}}"#.utf8)
                    ).root, business: BusinessID("b"), slug: "b", directory: ".", scratchDirectory: "",
                    deadline: .seconds(1), maximumInFlight: 1, logger: LogCollector().logger))
        }
        let named = try request(#","events":["text","replyFailed"]"#)
        #expect(isSubscribed(named, to: .replyFailed))
        #expect(!isSubscribed(named, to: .form))
        #expect(!isSubscribed(try request(""), to: .replyFailed))
    }
}
