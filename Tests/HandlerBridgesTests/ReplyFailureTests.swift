import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// Replies that Apple refuses: the server reports each to the handler outside the process, which may answer.
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

    @Test func `a child answers a replyFailed event, and its new state is stored`() async throws {
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

    @Test
    func `a replyFailed event that a child did not answer before a restart is delivered again after it`()
        async throws
    {
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

    @Test func `a child that subscribes to "*" gets no replyFailed events`() async throws {
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

    @Test func `a service gets an event for its failed reply, and its answer reaches the customer`()
        async throws
    {
        let told = Mutex<[[String]]>([])
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            // A body that is not JSON contains no event.
            let call = (try? JSONDocument(Array(request.body)))?.root
            guard let event = call?["event"], event["kind"]?.string == "replyFailed" else {
                return HTTPResponse(.ok, json: Array(#"{"replies":["bread"]}"#.utf8))
            }
            let failure = event["message"]
            let outcomes = call?["history"]?.elements.compactMap { $0["outcome"]?.string } ?? []
            told.withLock { told in
                told.append(
                    ["kind", "status", "inReplyTo"].compactMap { failure?[$0]?.string }
                        + ["httpStatus", "attempts"].compactMap { failure?[$0]?.int.map(String.init) }
                        + outcomes)
            }
            return HTTPResponse(.ok, json: Array(#"{"replies":["sorry"]}"#.utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/hook"
        let server = try await ServerUnderTest(bindings: [
            #"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}, "events": ["text", "replyFailed"]}}"#
        ])
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.badRequest))
        let message = customer.message(.text, id: MessageID("asked"))
        #expect(try await customer.post(message).status == 200)
        #expect(await texts(server, customer, count: 1) == ["sorry"])
        await server.stop()
        await service.stop(within: .zero)
        #expect(told.withLock { $0 } == [["text", "refused", "asked", "400", "1", "refused"]])
        #expect(try failures(server) == [.handled])
    }

    @Test func `a reply that waits for the gateway is in the next event's history as queued`() async throws {
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["\#(Self.program)", "history"]}"#])
        let customer = server.customer()
        server.gateway.misbehave(at: .message, .answer(.serviceUnavailable), times: 1000)
        for number in 1...2 {
            #expect(try await customer.post(customer.message(.text)).status == 200)
            // While the second event is handled, the first reply waits for the gateway.
            await server.stages.count(number) { $0.stage == .finish }
        }
        server.gateway.behave()
        #expect(await texts(server, customer, count: 2) == ["text", "text text text:queued"])
        await server.stop()
        #expect(try server.conversation(of: customer).compactMap(\.outcome) == ["accepted", "accepted"])
    }

    @Test func `a service gets replyFailed events when its binding names them`() async throws {
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
