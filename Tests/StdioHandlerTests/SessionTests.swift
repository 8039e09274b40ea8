import BalloonJSON
import BalloonPOSIX
import Glibc
import HandlerKit
import HandlerProtocol
import Synchronization
import TestSupport
import Testing

@testable import StdioHandler

/// Tests a Swift handler outside the server: the test plays the server and sends lines of the protocol.
struct SessionTests {
    private static let refusal = AnswerRefusal([
        .init(
            rule: "empty", pointer: "/message", found: "an empty text", allowed: "a text",
            passage: #"balloon-handler/1, "The answer""#)
    ])

    private final class Steps: Sendable {
        private let kept = Mutex<[String]>([])
        var all: [String] { kept.withLock { $0 } }
        func add(_ step: String) { kept.withLock { $0.append(step) } }
    }

    private struct Baker: TextHandler, LifecycleHandler {
        struct Burnt: Error {}

        let bread: String
        let steps: Steps

        func validate() { steps.add("validate") }

        func provision(_ host: HandlerHost) async throws {
            let sent = try await host.send(
                .text("We are open."), to: CustomerID("urn:mbid:c"), key: "open")
            steps.add("provision \(host.slug) \(sent)")
            let refusal = await #expect(throws: HandlerHostError.self) {
                try await host.send(.text(""), to: CustomerID("urn:mbid:c"), key: "nothing")
            }
            steps.add("\(refusal.map { "\($0)" } ?? "")")
            steps.add("withdrawn \(try await host.withdrawPayment("r-1"))")
        }

        func shutdown() { steps.add("shutdown") }

        func text(_ text: Text, _ context: Context) async throws -> Outcome {
            switch text.plainBody {
            case "burn": throw Burnt()
            case "wrong":
                // The line of a program that builds its messages as JSON.
                return .handled([try Reply(json: try JSONDocument(Array(#"{"type":"close"}"#.utf8)))])
            case "wait":
                steps.add("wait")
                // Wait until the call is cancelled.
                let (stream, continuation) = AsyncStream<Void>.makeStream()
                for await _ in stream {}
                continuation.finish()
                return .retry(after: nil)
            default:
                let count = (context.state["count"].flatMap { Int($0) } ?? 0) + 1
                context.state["count"] = "\(count)"
                return .reply("\(count) \(bread), after \(context.conversation.entries.count)")
            }
        }
    }

    private struct BakerFactory: HandlerFactory {
        let name = "baker"
        let steps: Steps
        func make(configuration: JSONValue?) -> any Handler {
            steps.add("make")
            return Baker(bread: configuration?["bread"]?.string ?? "", steps: steps)
        }
    }

    /// The server's side of the protocol: it writes the handler's input and reads its output.
    private final class Server: Sendable {
        let output: Descriptor
        let input: AsyncStream<[UInt8]>.Continuation
        let session: Task<Void, Never>

        init(_ factory: BakerFactory) throws {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            output = Descriptor(owning: ends[0])
            let session = Session(factory: factory, output: Output(Descriptor(owning: ends[1])))
            let (lines, input) = AsyncStream.makeStream(of: [UInt8].self)
            self.input = input
            self.session = Task { await session.run(lines) }
        }

        /// The next line that the handler writes.
        func line() async throws -> JSONValue {
            let bytes = try await onThread { [self] in
                var bytes: [UInt8] = []
                while bytes.last != UInt8(ascii: "\n"), try output.read(onto: &bytes, maximumBytes: 1) > 0 {}
                return bytes
            }
            return try JSONDocument(bytes).root
        }

        func event(_ id: Int, _ text: String, state: String = "{}") throws {
            let message = #"{"type": "text", "body": "\#(text)", "sourceId": "c", "destinationId": "b"}"#
            let entry = Conversation.Entry(
                seq: 1, at: "2026-07-10T17:00:00.000Z", direction: .inbound, kind: .text, id: MessageID("m"),
                message: try JSONDocument(Array(message.utf8)).root)
            let context = Context(
                event: .decode(message: try JSONDocument(Array(message.utf8))),
                conversation: Conversation(entries: [entry]),
                state: ConversationState(try JSONDocument(Array(state.utf8)).root),
                deliveryID: DeliveryID("\(id)"), deadline: .now + .seconds(30), logger: LogCollector().logger)
            input.yield(
                RPCLine.request(id: id, method: Method.event) { EventCall.write(context, to: &$0) })
        }
    }

    @Test
    func
        `a handler starts, sends a message, withdraws a payment, answers events, is cancelled and shuts down`()
        async throws
    {
        let steps = Steps()
        let server = try Server(BakerFactory(steps: steps))
        let initialization = Initialization(
            business: BusinessID("b"), slug: "bakery",
            configuration: try JSONDocument(Array(#"{"bread":"rye"}"#.utf8)).root, maximumInFlight: 4,
            deadline: .seconds(30))
        server.input.yield(
            RPCLine.request(id: 1, method: Method.initialize) { initialization.write(to: &$0) })
        // The handler may call the server while it is provisioned, before it answers `initialize`.
        let open = try await server.line()
        #expect(open["method"]?.string == "reply")
        #expect(open["params"]?["key"]?.string == "open")
        server.input.yield(RPCLine.result(id: try #require(open["id"])) { $0.field("messageId", "m-1") })
        let nothing = try await server.line()
        server.input.yield(
            RPCLine.failure(
                id: try #require(nothing["id"]),
                RPCFailure(Self.refusal)))
        let withdrawal = try await server.line()
        #expect(withdrawal["method"]?.string == "withdrawPayment")
        #expect(withdrawal["params"]?["requestIdentifier"]?.string == "r-1")
        server.input.yield(RPCLine.result(id: try #require(withdrawal["id"])) { $0.field("withdrawn", true) })
        let introduced = try await server.line()
        #expect(introduced["id"]?.int == 1)
        #expect(introduced["result"]?["handler"]?["name"]?.string == "baker")
        #expect(introduced["result"]?["events"]?.elements.map(\.string) == ["text"])
        #expect(
            steps.all == [
                "make", "validate", "provision bakery m-1",
                "\(HandlerHostError.unusableMessage(Self.refusal))", "withdrawn true",
            ])

        try server.event(2, "Hello", state: #"{"count":"6"}"#)
        let answer = try await server.line()
        #expect(answer["id"]?.int == 2)
        #expect(answer["result"]?["replies"]?[0]?["body"]?.string == "7 rye, after 1")
        #expect(answer["result"]?["state"]?["count"]?.string == "7")

        // The handler process sends only the error's type, because the error's text may quote a customer.
        try server.event(3, "burn")
        let failure = try await server.line()
        #expect(failure["error"]?["code"]?.int == RPCFailure.Code.retryable)
        #expect(failure["error"]?["message"]?.string == "the handler threw Burnt")

        // A message that breaks a rule is refused with its problems.
        try server.event(8, "wrong")
        let refused = try await server.line()["error"]
        #expect(refused?["code"]?.int == RPCFailure.Code.permanent)
        #expect(refused?["data"]?["problems"]?[0]?["rule"]?.string == "messageType")
        #expect(refused?["data"]?["problems"]?[0]?["pointer"]?.string == "/type")

        // A line that is no message is skipped.
        for line in ["no JSON", "[1]", "{", #"{"jsonrpc":"2.0"}"#, ""] {
            server.input.yield(Array((line + "\n").utf8))
        }
        server.input.yield([0xEF, 0xBB, 0xBF] + RPCLine.request(id: 9, method: Method.ping))
        #expect(try await server.line()["id"]?.int == 9)
        try server.event(10, "one\u{2028}two")
        #expect(try await server.line()["id"]?.int == 10)

        // Other events are answered while one is in progress.
        try server.event(4, "wait")
        server.input.yield(RPCLine.request(id: 5, method: Method.ping))
        #expect(try await server.line()["id"]?.int == 5)
        server.input.yield(RPCLine.request(id: 6, method: "unheardOf"))
        #expect(try await server.line()["error"]?["code"]?.int == RPCFailure.Code.unknownMethod)
        server.input.yield(RPCLine.notification(method: Method.cancel) { $0.field("deliveryId", "4") })
        #expect(try await server.line()["result"]?["outcome"]?.string == "retry")

        server.input.yield(RPCLine.request(id: 7, method: Method.shutdown))
        #expect(try await server.line()["id"]?.int == 7)
        server.input.finish()
        await server.session.value
        #expect(steps.all.suffix(2) == ["wait", "shutdown"])
    }

    @Test
    func `an event before the first call is refused, and a handler that never started is not shut down`()
        async throws
    {
        let steps = Steps()
        let server = try Server(BakerFactory(steps: steps))
        try server.event(1, "Hello")
        #expect(try await server.line()["error"]?["message"]?.string == "not initialized")
        server.input.finish()
        await server.session.value
        #expect(steps.all == [])
    }
}
