import BalloonJSON
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

/// Messages without an event and the handler's state, over the protocol and in the process.
struct LateReplyTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    @Test func `a child's messages without an event are sent once for each key`() async throws {
        let server = try await ServerUnderTest(bindings: [#"{"exec": ["\#(Self.program)", "later"]}"#])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        let texts = replies.compactMap { $0.message.root["body"]?.string }
        // The message without an event may be sent before or after the answer to the event.
        #expect(texts.sorted() == ["at once: ", "later: ready"])
        // The reply to the second event quotes the answers to the child's calls: the same id twice, and the
        // error for an empty key.
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let told = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        let later = told.first { $0.message.root["body"]?.string == "later: ready" }
        let id = try #require(later?.message.root["id"]?.string)
        let words = told[2].message.root["body"]?.string?.split(separator: " ").map(String.init) ?? []
        // An invalid call is answered at once; the others are answered when they are on disk.
        #expect(words.sorted() == ["-32602", "at", "once:", id, id].sorted())
        await server.stop()
        let lines = try server.conversation(of: customer)
        // A reply's line is written when its delivery has ended, possibly after the line of the next message.
        #expect(lines.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(lines.first?.direction == .inbound)
        #expect(lines.count { $0.direction == .inbound } == 2)
        // The handler makes two calls with the same key for each of two events; all four are one message.
        #expect(lines.count { $0.id == MessageID(id) } == 1)
        let sent = server.gateway.messages(for: customer.id)
        #expect(sent.count == 3)
        // The replies to events are sent in the order of the events.
        let answers = lines.filter { $0.direction == .outbound && $0.id != MessageID(id) }
        #expect(
            answers.map { $0.message["body"]?.string }
                == ["at once: ", told[2].message.root["body"]?.string])
    }

    @Test func `a child's state survives a restart of the server, and can be deleted`()
        async throws
    {
        let binding = #"{"exec": ["\#(Self.program)", "state"]}"#
        let directory = TemporaryDirectory()
        var server = try await ServerUnderTest(bindings: [binding], directory: directory)
        let id = server.customer().id
        for (count, text) in ["state 1", "state 2", "state 3", "state 1"].enumerated() {
            if count == 2 {
                await server.stop()
                server = try await ServerUnderTest(bindings: [binding], directory: directory)
            }
            let customer = server.customer(id.rawValue)
            #expect(try await customer.post(customer.message(.text)).status == 200)
            let replies = await server.gateway.waitForMessages(count: count % 2 + 1, customer: customer.id)
            #expect(replies.last?.message.root["body"]?.string == text)
        }
        await server.stop()
    }

    @Test func `a message id depends on business, customer and key, each as a separate value`() {
        let id = { ProactiveMessages.id(BusinessID($0), CustomerID($1), $2) }
        #expect(id("b", "c", "k") == id("b", "c", "k"))
        #expect(Set([id("b", "c", "k"), id("bc", "", "k"), id("b", "ck", ""), id("", "b", "ck")]).count == 4)
        #expect(id("b", "c", "k").rawValue.utf8.count == 36)
        #expect(id("b", "c", "k").rawValue.dropFirst(14).first == "8")
    }

    @Test(arguments: ["", "urn:mbid:a\nb", "a\u{7f}", "a\tb", String(repeating: "a", count: 513)])
    func `a customer's id that cannot be a header value is refused before anything is stored`(
        customer: String
    ) async {
        await #expect(throws: HandlerHostError.unusableCustomer) {
            // There is no store here, so storing the message would throw a different error.
            try await ProactiveMessages().send(
                .text("hi"), from: BusinessID("b"), to: CustomerID(customer), key: "k")
        }
    }

    /// An in-process handler that sends a greeting when it is provisioned, and counts messages in its state.
    private struct Greeter: TextHandler, LifecycleHandler {
        let failures: Failures

        func provision(_ host: HandlerHost) async throws {
            try failures.next()
            try await host.send(.text("We are open again."), to: CustomerID("urn:mbid:known"), key: "open")
        }

        func text(_ text: Text, _ context: Context) -> Outcome {
            let count = (context.state["count"].flatMap { Int($0) } ?? 0) + 1
            context.state["count"] = "\(count)"
            return .reply("text \(count)")
        }
    }

    private final class Failures: Sendable {
        struct NotYet: Error {}
        private let left: Mutex<Int>
        init(_ count: Int) { left = Mutex(count) }
        func next() throws {
            let left = self.left.withLock { left in
                left -= 1
                return left
            }
            if left >= 0 { throw NotYet() }
        }
    }

    private struct GreeterFactory: HandlerFactory {
        let failures: Int
        var name: String { "greeter" }
        func make(configuration: JSONValue?) -> any Handler { Greeter(failures: Failures(failures)) }
    }

    @Test func `an in-process handler is provisioned, sends a message first, and keeps its state`()
        async throws
    {
        let server = try await ServerUnderTest(
            bindings: [#"{"handler": {"builtin": "greeter"}}"#], handlers: [GreeterFactory(failures: 1)])
        let customer = server.customer()
        // The greeting follows the second attempt to provision, one second after the first.
        for text in ["text 1", "text 2"] {
            #expect(try await customer.post(customer.message(.text)).status == 200)
            let count = text == "text 1" ? 1 : 2
            let replies = await server.gateway.waitForMessages(count: count, customer: customer.id)
            #expect(replies.last?.message.root["body"]?.string == text)
        }
        let greeted = await server.gateway.waitForMessages(customer: CustomerID("urn:mbid:known"))
        #expect(greeted.first?.message.root["body"]?.string == "We are open again.")
        await server.stop()
        #expect(server.log.lines.contains { $0.contains("could not prepare itself") })
    }
}
