import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Dispatch
import HandlerKit
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// The effects of a reload.
struct ReloadTests {
    private static let program = Fixture.directory + "/handlers/faulty.py"

    private func binding(_ fault: String, _ config: String) -> String {
        #"{"exec": ["\#(Self.program)", "\#(fault)"], "config": \#(config)}"#
    }

    /// Sends a text to a business and returns the words of its answer.
    private func answer(_ server: ServerUnderTest, _ index: Int) async throws -> [String] {
        let customer = server.customer(index)
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        let text = try #require(replies.first?.message.root["body"]?.string)
        return text.split(separator: " ").map(String.init)
    }

    @Test func `a reload restarts only handlers whose section changed`() async throws {
        let kept = binding("who", #"{"name": "kept"}"#)
        let server = try await ServerUnderTest(bindings: [kept, binding("who", #"{"name": "old"}"#)])
        let (before, old) = (try await answer(server, 0), try await answer(server, 1))
        await server.reload([kept, binding("who", #"{"name": "new"}"#)])
        let (after, new) = (try await answer(server, 0), try await answer(server, 1))
        #expect(before == after)
        #expect(old.first == "old")
        #expect(new.first == "new")
        await server.stop()
        #expect(
            server.log.lines.contains { $0.contains("configuration reloaded") && $0.contains("unchanged=1") })
    }

    @Test func `a reload with an error keeps the old configuration, and logs the error`() async throws {
        let good = binding("who", #"{"name": "good"}"#)
        let server = try await ServerUnderTest(bindings: [good, good])
        let before = try await answer(server, 0)
        // The file of the first business is valid, but no file is applied when one is invalid.
        await server.reload([binding("who", #"{"name": "new"}"#), #"{"exec": []}"#])
        #expect(try await answer(server, 0) == before)
        await server.stop()
        #expect(
            server.log.lines.contains { $0.contains("the old configuration stays") && $0.contains("b1.json") }
        )
        #expect(!server.log.lines.contains { $0.contains("configuration reloaded") })
    }

    @Test func `replacing a handler loses and reorders no event`() async throws {
        let directory = TemporaryDirectory()
        let gates = directory.file("gates")
        try Directory.make(gates)
        // The handler answers an event as soon as `gates` contains a file with the event's text as its name.
        try AtomicFile.write([], to: gates + "/0")
        let old = binding("slow", #"{"name": "old", "seconds": 0, "gates": "\#(gates)"}"#)
        let server = try await ServerUnderTest(bindings: [old], directory: directory)
        let customer = server.customer()
        for number in 0..<6 {
            let text = #"{"type": "text", "body": "\#(number)"}"#
            #expect(try await customer.post(customer.message(completing: Array(text.utf8))).status == 200)
        }
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let process = try await process(server)
        #expect(process != nil)
        async let reloaded: Void = server.reload([binding("slow", #"{"name": "new", "seconds": 0}"#)])
        // The successor starts while the old handler finishes its last event.
        let deadline = ContinuousClock.now + .seconds(60)
        while try await self.process(server) == process, ContinuousClock.now < deadline {}
        try AtomicFile.write([], to: gates + "/1")
        await reloaded
        let replies = await server.gateway.waitForMessages(count: 6, customer: customer.id)
        let texts = replies.compactMap { $0.message.root["body"]?.string }
        #expect(texts.map { $0.split(separator: " ").last } == ["0", "1", "2", "3", "4", "5"])
        #expect(texts.first?.hasPrefix("old") ?? false)
        #expect(texts.last?.hasPrefix("new") ?? false)
        await server.stop()
        // No event was interrupted: each was handled at its first attempt.
        #expect(server.stages.events.allSatisfy { $0.attempt ?? 1 == 1 })
    }

    /// The process of the first business's handler; nil while there is none.
    private func process(_ server: ServerUnderTest) async throws -> Int? {
        try await server.handlers()["handlers"]?[0]?["process"]?.int
    }

    /// An in-process handler whose first call never returns, and whose other calls wait for its only slot.
    private struct Stuck: TextHandler {
        let release: DispatchSemaphore
        func text(_ text: Text, _ context: Context) async -> Outcome {
            await withCheckedContinuation { continuation in
                release.wait()
                continuation.resume()
            }
            return .handled
        }
    }

    private struct StuckFactory: HandlerFactory {
        let release: DispatchSemaphore
        var name: String { "stuck" }
        func make(configuration: JSONValue?) -> any Handler { Stuck(release: release) }
    }

    @Test func `a handler that never returns does not block its successor`() async throws {
        let release = DispatchSemaphore(value: 0)
        let stuck = #"{"handler": {"builtin": "stuck"}, "concurrency": 1, "deadlineSeconds": 1}"#
        let server = try await ServerUnderTest(bindings: [stuck], handlers: [StuckFactory(release: release)])
        let customers = (0..<4).map { _ in server.customer() }
        for customer in customers { #expect(try await customer.post(customer.message(.text)).status == 200) }
        await server.stages.first { $0.stage == .route }
        await server.reload([binding("who", #"{"name": "new"}"#)])
        for customer in customers {
            let replies = await server.gateway.waitForMessages(customer: customer.id)
            #expect(replies.first?.message.root["body"]?.string?.hasPrefix("new") ?? false)
        }
        for _ in customers { release.signal() }
        await server.stop()
    }

    @Test func `a reload takes effect while the handler that the reload before replaced processes an event`()
        async throws
    {
        let directory = TemporaryDirectory()
        let gates = directory.file("gates")
        try Directory.make(gates)
        // The handler answers an event as soon as `gates` contains a file with the event's text as its name.
        let old = binding("slow", #"{"name": "old", "seconds": 0, "gates": "\#(gates)"}"#)
        let server = try await ServerUnderTest(
            bindings: [#"{"handler": \#(old), "deadlineSeconds": 300}"#], directory: directory)
        let customer = server.customer(0)
        for number in 0..<2 {
            let text = #"{"type": "text", "body": "\#(number)"}"#
            #expect(try await customer.post(customer.message(completing: Array(text.utf8))).status == 200)
        }
        await server.stages.first { $0.stage == .route }
        let middle = await server.beginReload([binding("who", #"{"name": "middle"}"#)])
        let (new, other) = (binding("who", #"{"name": "new"}"#), binding("who", #"{"name": "other"}"#))
        let last = await server.beginReload([new, other])
        // The business that the second reload added is served, although the first one has not ended.
        #expect(try await answer(server, 1).first == "other")
        #expect(server.gateway.messages(for: customer.id).isEmpty)
        try AtomicFile.write([], to: gates + "/0")
        await middle?.value
        await last?.value
        let replies = await server.gateway.waitForMessages(count: 2, customer: customer.id)
        let names = replies.compactMap { $0.message.root["body"]?.string?.split(separator: " ").first }
        #expect(names == ["old:", "new"])
        await server.stop()
    }

    @Test func `the events of a removed business wait until the business is added again`() async throws {
        let (first, second) = (binding("who", #"{"name": "first"}"#), binding("who", #"{"name": "second"}"#))
        let server = try await ServerUnderTest(bindings: [first])
        let stranger = server.customer(1)
        #expect(try await stranger.post(stranger.message(.text)).status == 404)
        await server.reload([first, second])
        #expect(try await answer(server, 1).first == "second")
        await server.reload(["", second])
        let customer = server.customer(0)
        #expect(try await customer.post(customer.message(.text)).status == 404)
        #expect(try await answer(server, 1).first == "second")
        await server.reload([first, second])
        #expect(try await answer(server, 0).first == "first")
        await server.stop()
        let told = server.log.lines.filter { $0.contains("configuration reloaded") }
        #expect(told.count == 3)
        for (line, words) in zip(told, ["added=b1", "removed=b0", "added=b0"]) {
            #expect(line.contains(words))
        }
        #expect(told.allSatisfy { $0.contains("replaced= ") || $0.hasSuffix("replaced=") })
    }

    @Test func `when a business is removed, its events in flight are finished and the others wait`()
        async throws
    {
        let directory = TemporaryDirectory()
        let gates = directory.file("gates")
        try Directory.make(gates)
        let slow = binding("slow", #"{"name": "slow", "seconds": 0, "gates": "\#(gates)"}"#)
        let server = try await ServerUnderTest(bindings: [slow, slow], directory: directory)
        let customer = server.customer()
        for number in 0..<3 {
            let text = #"{"type": "text", "body": "\#(number)"}"#
            #expect(try await customer.post(customer.message(completing: Array(text.utf8))).status == 200)
        }
        await server.stages.first { $0.stage == .route }
        async let gone: Void = server.reload(["", slow])
        let stranger = server.customer()
        let deadline = ContinuousClock.now + .seconds(60)
        while try await stranger.post(stranger.message(.typingEnd)).status != 404,
            ContinuousClock.now < deadline
        {}
        // Let the first two events finish. The second runs before the removal only if it was dispatched in
        // time.
        for number in 0...1 { try AtomicFile.write([], to: gates + "/\(number)") }
        await gone
        // There may even be no reply, if the removal came before the first event was dispatched.
        #expect(server.gateway.messages(for: customer.id).count < 3)
        try AtomicFile.write([], to: gates + "/2")
        await server.reload([slow, slow])
        let replies = await server.gateway.waitForMessages(count: 3, customer: customer.id)
        let texts = replies.compactMap { $0.message.root["body"]?.string }
        #expect(texts == ["slow: 0", "slow: 1", "slow: 2"])
        await server.stop()
    }
}
