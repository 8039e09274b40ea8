import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import HandlerKit
import Logging
import RetentionClient
import RetentionMessages
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

/// A handler that does what a test says.
private struct Scripted: RetentionHandler {
    struct Broken: Error {}
    let body: @Sendable (RetentionRequest) async throws -> RetentionChoice?

    func retention(
        _ request: RetentionRequest, _ context: RetentionContext
    ) async throws -> RetentionChoice? { try await body(request) }
}

/// A gate that holds handlers until a test opens it.
private final class Gate: Sendable {
    private let gate = ReadinessGate()
    private let entered = Mutex(0)

    var count: Int { entered.withLock { $0 } }
    func open() { gate.open() }
    func wait() async {
        entered.withLock { $0 += 1 }
        _ = await gate.wait()
    }
}

struct RetentionResponderTests {
    private func handler(
        _ log: LogCollector, concurrency: Int = 16,
        _ body: @escaping @Sendable (RetentionRequest) async throws -> RetentionChoice?
    ) -> RetentionResponder {
        let scripted = Scripted(body: body)
        let host = HandlerHost(business: BusinessID("b"), slug: "shop", logger: log.logger) { _, _, _ in
            throw HandlerHostError.noConversations
        }
        let handler = RetentionResponder(
            scripted, HandlerLifecycle(scripted, host: host), slug: "shop", fingerprint: [],
            concurrency: concurrency, logger: log.logger)
        handler.start()
        return handler
    }

    /// The answers that name a message, as the message's name.
    private func name(_ response: HTTPResponse, _ app: AppUnderTest) throws -> String {
        let root = try JSONDocument(response.body).root
        let id = (root["message"] ?? root["promotionalOffer"])?["messageIdentifier"]?.string
        return id.flatMap { try? app.configuration().folder.message($0)?.name } ?? text(response)
    }

    private func decisions(_ endpoint: EndpointUnderTest) async throws -> [String] {
        endpoint.decisions.finish()
        await endpoint.decisions.run()
        let folder = endpoint.app.directory.file("data/retention/shop")
        let file = try #require(try Directory.names(in: folder).first { $0.hasPrefix("decisions-") })
        let lines = String(decoding: try File(folder + "/" + file, for: .reading).readAll(), as: UTF8.self)
        return try lines.split(separator: "\n").map { line in
            let root = try JSONDocument(Array(line.utf8)).root
            return [root["source"]?.string, root["handler"]?.string].compactMap { $0 }.joined(separator: " ")
        }
    }

    @Test func `the handler's choice is the answer, and nothing leaves it to the rules`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let log = LogCollector()
        let handler = handler(log) { request in
            request.locale.code == "de-DE"
                ? .promotionalOffer(message: "stay", RetentionChoice.Offer("half")) : nil
        }
        let endpoint = try EndpointUnderTest(app, handler: handler, clock: .now)
        let offer = try await endpoint.ask(app.question(1))
        #expect(try JSONDocument(offer.body).root["promotionalOffer"] != nil)
        #expect(try await name(endpoint.ask(app.question(2, locale: "de-AT")), app) == "bleib")
        #expect(try await decisions(endpoint) == ["handler", "rule"])
        await handler.shutdown()
    }

    private static let failures:
        [(
            name: String, failure: String,
            body: @Sendable (RetentionRequest) async throws -> RetentionChoice?
        )] = [
            ("throws", "failed", { _ in throw Scripted.Broken() }),
            ("names an unknown message", "invalid", { _ in .message("other") }),
            ("names a message that is not approved", "invalid", { _ in .message("rejected") }),
            (
                "makes an offer with an image", "invalid",
                { _ in .promotionalOffer(message: "image", RetentionChoice.Offer("half")) }
            ),
            (
                "never returns", "late",
                { _ in
                    // The deadline cancels the task, which ends the stream.
                    for await _ in AsyncStream<Void>.makeStream().stream {}
                    return .message("stay")
                }
            ),
        ]

    @Test func `a handler that fails, lies or is late leaves the answer to the rules`() async throws {
        for (label, failure, body) in Self.failures {
            let app = try AppUnderTest()
            try app.addMessages()
            try app.record(.approved, of: ["stay", "bleib", "image"])
            let log = LogCollector()
            let handler = handler(log, body)
            let endpoint = try EndpointUnderTest(app, handler: handler, clock: .now) {
                $0.budget = failure == "late" ? .milliseconds(50) : .seconds(60)
            }
            for number in 1...2 {
                #expect(try await name(endpoint.ask(app.question(number)), app) == "bleib", "\(label)")
            }
            #expect(try await decisions(endpoint) == ["rule \(failure)", "rule \(failure)"], "\(label)")
            // The log has the first failure only, and nothing of the subscription.
            let lines = log.lines.filter { $0.contains("retention handler failed") && !$0.contains("debug") }
            #expect(lines.count == 1 && lines[0].contains(failure), "\(label): \(lines)")
            for line in log.lines { #expect(!line.contains("99371282")) }
            await handler.shutdown(within: .seconds(60))
        }
    }

    @Test func `a handler whose slots are taken is not asked, and others wait for nothing`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let (gate, log) = (Gate(), LogCollector())
        let handler = handler(log, concurrency: 2) { _ in
            await gate.wait()
            return .message("stay")
        }
        let endpoint = try EndpointUnderTest(app, handler: handler, clock: .now) { $0.budget = .seconds(60) }
        let held = try [1, 2].map { try app.question($0) }.map { question in
            Task { try await endpoint.ask(question) }
        }
        #expect(await eventually { gate.count == 2 })
        #expect(try await name(endpoint.ask(app.question(3)), app) == "bleib")
        gate.open()
        for task in held { #expect(try name(try await task.value, app) == "stay") }
        #expect(try await name(endpoint.ask(app.question(4)), app) == "stay")
        #expect(
            try await decisions(endpoint).sorted() == ["handler", "handler", "handler", "rule busy"])
        await handler.shutdown()
    }

    @Test func `a question that is repeated while the first is in flight gets the same bytes`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let (gate, log) = (Gate(), LogCollector())
        let handler = handler(log) { _ in
            await gate.wait()
            return .promotionalOffer(message: "stay", RetentionChoice.Offer("half"))
        }
        let endpoint = try EndpointUnderTest(app, handler: handler, clock: .now) { $0.budget = .seconds(60) }
        let body = try app.store.body(asking: app.question(1))
        let first = Task { await endpoint.post(body) }
        #expect(await eventually { gate.count == 1 })
        let others = (0..<8).map { _ in Task { await endpoint.post(body) } }
        gate.open()
        let bytes = await first.value.body
        // Two signatures of one offer differ by their nonce.
        #expect(String(decoding: bytes, as: UTF8.self).contains("promotionalOfferSignatureV2"))
        for other in others { #expect(await other.value.body == bytes) }
        #expect(await endpoint.post(body).body == bytes)
        #expect(gate.count == 1)
        #expect(try await decisions(endpoint) == ["handler"])
        await handler.shutdown()
    }

    @Test func `the log says once that a handler fails, and once that it answers again`() async throws {
        let app = try AppUnderTest()
        try app.record(.approved)
        let log = LogCollector()
        let isBroken = Mutex(true)
        let handler = handler(log) { _ in
            if isBroken.withLock({ $0 }) { throw Scripted.Broken() }
            return .message("stay")
        }
        let endpoint = try EndpointUnderTest(app, handler: handler, clock: .now) { $0.budget = .seconds(60) }
        #expect(try await name(endpoint.ask(app.question(1)), app) == "bleib")
        isBroken.withLock { $0 = false }
        for number in 2...3 { #expect(try await name(endpoint.ask(app.question(number)), app) == "stay") }
        #expect(log.lines.count { $0.contains("retention handler answers again") } == 1)
        await handler.shutdown()
        // After the shutdown the rules decide.
        #expect(try await name(endpoint.ask(app.question(4)), app) == "bleib")
    }
}

extension TimeSource {
    /// A clock whose days stand at the questions' time and whose uptime runs.
    fileprivate static var now: Self {
        Self(milliseconds: { AppUnderTest.now }, uptime: TimeSource.system.uptime)
    }
}
