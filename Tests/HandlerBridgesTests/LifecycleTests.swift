import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import Logging
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// The lifecycle calls of an in-process handler, and their order.
@Suite(.timeLimit(.minutes(10))) struct LifecycleTests {
    private final class Steps: Sendable {
        private let kept = Mutex<[String]>([])
        private let added = AsyncStream.makeStream(of: String.self)
        var all: [String] { kept.withLock { $0 } }

        func add(_ step: String) {
            kept.withLock { $0.append(step) }
            added.continuation.yield(step)
        }

        /// Waits for a step; may be called once in a test.
        func wait(for step: String) async { for await next in added.stream where next == step { return } }
    }

    private struct Diary: TextHandler, LifecycleHandler {
        struct Refused: Error, CustomStringConvertible { let description = "no diary is called that" }

        let name: String
        let steps: Steps

        func validate() throws {
            steps.add("validate \(name)")
            if name == "nobody" { throw Refused() }
        }
        func provision(_ host: HandlerHost) { steps.add("provision \(name)") }
        func shutdown() { steps.add("shutdown \(name)") }
        func text(_ text: Text, _ context: Context) -> Outcome {
            steps.add("event \(name)")
            return .reply(.text(name))
        }
    }

    private struct DiaryFactory: HandlerFactory {
        let name = "diary"
        let steps: Steps

        func make(configuration: JSONValue?) -> any Handler {
            let name = configuration?["name"]?.string ?? ""
            steps.add("make \(name)")
            return Diary(name: name, steps: steps)
        }
    }

    private func binding(_ name: String) -> String {
        #"{"handler": {"builtin": "diary", "config": {"name": "\#(name)"}}}"#
    }

    @Test
    func `a handler is created, validated, provisioned, called, and shut down before its successor starts`()
        async throws
    {
        let steps = Steps()
        let server = try await ServerUnderTest(
            bindings: [binding("old")], handlers: [DiaryFactory(steps: steps)])
        for name in ["old", "new"] {
            if name == "new" { await server.reload([binding("new")]) }
            let customer = server.customer()
            #expect(try await customer.post(customer.message(.text)).status == 200)
            let replies = await server.gateway.waitForMessages(customer: customer.id)
            #expect(replies.first?.message.root["body"]?.string == name)
        }
        await server.stop()
        #expect(
            steps.all == [
                "make old", "validate old", "provision old", "event old", "make new", "validate new",
                "shutdown old", "provision new", "event new", "shutdown new",
            ])
    }

    @Test func `a handler that refuses its configuration never starts, and the old one stays`() async throws {
        let steps = Steps()
        let server = try await ServerUnderTest(
            bindings: [binding("old")], handlers: [DiaryFactory(steps: steps)])
        // The server's start does not wait for provisioning, and an unprovisioned handler is not shut down.
        await steps.wait(for: "provision old")
        await server.reload([binding("nobody")])
        await server.stop()
        #expect(
            server.log.lines.contains {
                $0.contains("the old configuration stays") && $0.contains("no diary is called that")
            })
        #expect(
            steps.all == [
                "make old", "validate old", "provision old", "make nobody", "validate nobody", "shutdown old",
            ])
    }

    @Test func `a configuration check creates and validates the handler`() throws {
        let steps = Steps()
        let directory = TemporaryDirectory()
        try Directory.make(directory.file("businesses"))
        let server = #"{"mspID":"m","secret":{"env":"S"},"dataDirectory":"d"}"#
        let business = #"{"businessID":"b","name":"B",\#(binding("nobody").dropFirst())"#
        try AtomicFile.write(Array(server.utf8), to: directory.file("server.json"))
        try AtomicFile.write(Array(business.utf8), to: directory.file("businesses/b.json"))
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader.load(
                file: directory.file("server.json"), environment: ["S": "c2VjcmV0LXNlY3JldC1zZWNyZXQ="],
                handlers: [DiaryFactory(steps: steps)])
        }
        #expect("\(try #require(error).problems)".contains("no diary is called that"))
        #expect(steps.all == ["make nobody", "validate nobody"])
    }

    /// A handler whose calls wait until the test releases them; it counts concurrent calls.
    private final class Crowd: TextHandler {
        private struct State {
            var now = 0
            var most = 0
            var isOpen = false
            var deadline = Duration.zero
            var inside: [CheckedContinuation<Void, Never>] = []
            var watch: (count: Int, CheckedContinuation<Void, Never>)?
        }

        private let state = Mutex(State())

        var most: Int { state.withLock { $0.most } }
        var deadline: Duration { state.withLock { $0.deadline } }

        func text(_ text: Text, _ context: Context) async -> Outcome {
            context.logger.info("at work")
            await withCheckedContinuation { continuation in
                let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    state.now += 1
                    state.most = max(state.most, state.now)
                    state.deadline = context.deadline - .now
                    guard !state.isOpen else { return [continuation] }
                    state.inside.append(continuation)
                    guard let watch = state.watch, state.now >= watch.count else { return [] }
                    state.watch = nil
                    return [watch.1]
                }
                for one in waiting { one.resume() }
            }
            state.withLock { $0.now -= 1 }
            return .handled
        }

        /// Waits until this many calls are in progress.
        func wait(for count: Int) async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.now < count { state.watch = (count, continuation) }
                    return state.now >= count
                }
                if isThere { continuation.resume() }
            }
        }

        func open() {
            let inside = state.withLock { state in
                state.isOpen = true
                defer { state.inside = [] }
                return state.inside
            }
            for one in inside { one.resume() }
        }
    }

    private struct CrowdFactory: HandlerFactory {
        let name: String
        let crowd: Crowd
        func make(configuration: JSONValue?) -> any Handler { crowd }
    }

    @Test func `each business has its own concurrency, deadline and log level`() async throws {
        let (narrow, wide) = (Crowd(), Crowd())
        let server = try await ServerUnderTest(
            bindings: [
                #"{"handler": {"builtin": "narrow"}, "concurrency": 1, "deadlineSeconds": 100, "logLevel": "error"}"#,
                #"{"handler": {"builtin": "wide"}, "concurrency": 2, "deadlineSeconds": 300, "logLevel": "info"}"#,
            ],
            handlers: [
                CrowdFactory(name: "narrow", crowd: narrow), CrowdFactory(name: "wide", crowd: wide),
            ])
        for index in [0, 1, 0, 1] {
            let customer = server.customer(index)
            #expect(try await customer.post(customer.message(.text)).status == 200)
        }
        await wide.wait(for: 2)
        await narrow.wait(for: 1)
        // Wait until the second event was dispatched, which finds no free slot.
        await server.stages.count(2) { $0.stage == .route && $0.business == ServerUnderTest.business(0) }
        narrow.open()
        wide.open()
        await server.stages.count(4) { $0.stage == .finish }
        await server.stop()
        #expect((narrow.most, wide.most) == (1, 2))
        // The handler sees the rest of its deadline: a busy machine may have used a minute of it.
        #expect((.seconds(40) ... .seconds(100)).contains(narrow.deadline))
        #expect((.seconds(200) ... .seconds(300)).contains(wide.deadline))
        let told = server.log.lines.filter { $0.contains("at work") }
        #expect(told.count == 2)
        #expect(told.allSatisfy { $0.contains("business=\(ServerUnderTest.business(1))") })
    }
}
