import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import MessageServer
import RetentionClient
import RetentionMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges

/// The App Store's questions to handlers outside the server: a Swift program, a Python program, and a service.
struct RetentionBridgeTests {
    private static let config = #""config":{"product":"p.monthly","message":"stay"}"#
    private static let faults = Fixture.directory + "/handlers/retention_faults.py"

    /// A server whose app has this handler; returns it when the handler is ready.
    private func start(
        _ binding: String, _ app: AppUnderTest, budget: Duration = .seconds(60), waits: Bool = true
    ) async throws -> ServerUnderTest {
        try app.record(.approved)
        let key = binding.contains(#""http""#) ? "http" : "exec"
        let value = try JSONDocument(Array(binding.utf8)).root
        let configuration = try app.configuration {
            $0.handler = .bound(by: key, value)
            $0.budget = budget
            $0.directory = app.directory.path
        }
        let server = try await ServerUnderTest(bindings: [], directory: app.directory) {
            $0.apps = [configuration]
        }
        if key == "exec", waits { await server.log.first { $0.contains("handler is ready") } }
        return server
    }

    private func ask(
        _ number: Int, _ locale: String, _ app: AppUnderTest, _ server: ServerUnderTest,
        product: String = "p.monthly"
    ) async throws -> JSONValue {
        let question = try app.question(
            number, product: product, locale: locale, signedMilliseconds: Int(Timestamp.now().milliseconds))
        let response = try await server.transport.send(
            TransportRequest(
                method: "POST", url: server.url + "/retention/shop/production",
                headers: [("content-type", "application/json")], body: app.store.body(asking: question),
                allowsPlainHTTP: true))
        #expect(response.status == 200)
        return try JSONDocument(response.body).root
    }

    private func name(_ answer: JSONValue, _ app: AppUnderTest) throws -> String? {
        let id = (answer["message"] ?? answer["promotionalOffer"])?["messageIdentifier"]?.string
        return try id.flatMap { try app.configuration().folder.message($0)?.name }
    }

    private func decisions(_ app: AppUnderTest) throws -> [String] {
        let folder = app.directory.file("data/retention/shop")
        let file = try #require(try Directory.names(in: folder).first { $0.hasPrefix("decisions-") })
        let lines = String(decoding: try File(folder + "/" + file, for: .reading).readAll(), as: UTF8.self)
        return try lines.split(separator: "\n").map { line in
            let root = try JSONDocument(Array(line.utf8)).root
            return [root["source"]?.string, root["handler"]?.string].compactMap { $0 }.joined(separator: " ")
        }
    }

    /// Asks in two locales about a product that the handler decides, and about one that it leaves to the rules.
    private func check(_ server: ServerUnderTest, _ app: AppUnderTest) async throws {
        for (number, locale) in ["en-US", "de-DE"].enumerated() {
            let offer = try await ask(number, locale, app, server)
            #expect(offer["promotionalOffer"]?["promotionalOfferSignatureV2"]?.string != nil, "\(locale)")
            #expect(try name(offer, app) == "stay", "\(locale)")
        }
        #expect(try await name(ask(3, "de-DE", app, server, product: "p.yearly"), app) == "bleib")
        await server.stop(secrets: ["99371282"])
        #expect(try decisions(app) == ["handler", "handler", "rule"])
    }

    @Test(arguments: ["swift", "python"])
    func `a program decides for its product, and the rules for the others`(_ language: String) async throws {
        let app = try AppUnderTest()
        let program =
            language == "swift"
            ? buildDirectory + "/LoyaltyExample" : Fixture.sampleHandlers + "/python/retention.py"
        let server = try await start(#"{"exec":["\#(program)"],\#(Self.config)}"#, app)
        try await check(server, app)
    }

    @Test func `a service decides for its product, and the rules for the others`() async throws {
        let app = try AppUnderTest()
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            // The service is the test's own, and is called with JSON only.
            let question = (try? JSONDocument(Array(request.body)))?.root["retention"]
            let json =
                question?["productId"]?.string == "p.monthly"
                ? #"{"promotionalOffer":{"message":"stay","offer":"half-price"}}"# : "{}"
            let isSigned = request.field(HTTPFieldName("webhook-signature")) != nil
            return HTTPResponse(isSigned ? .ok : .unauthorized, json: Array(json.utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/hook"
        let server = try await start(#"{"http":{"url":"\#(url)","secret":{"env":"HOOK"}}}"#, app)
        try await check(server, app)
        await service.stop(within: .zero)
    }

    private static let faulty: [(mode: String, failure: String)] = [
        ("silent", "late"), ("crash", "failed"), ("error", "failed"), ("lie", "invalid"),
        ("unknown", "invalid"), ("events", "failed"),
    ]

    @Test(arguments: faulty)
    func `a program that is silent, crashes, fails or lies leaves the answer to the rules`(
        _ mode: String, _ failure: String
    ) async throws {
        let app = try AppUnderTest()
        // Only the silent program is worth no wait.
        let budget: Duration = mode == "silent" ? .milliseconds(100) : .seconds(60)
        let server = try await start(#"{"exec":["\#(Self.faults)","\#(mode)"]}"#, app, budget: budget)
        #expect(try await name(ask(1, "de-DE", app, server), app) == "bleib")
        await server.stop(secrets: ["99371282"])
        #expect(try decisions(app) == ["rule \(failure)"])
    }

    @Test func `a service that is absent, slow or answers another status leaves the answer to the rules`()
        async throws
    {
        let app = try AppUnderTest()
        let port = RefusingPort()
        let binding = #"{"http":{"url":"http://127.0.0.1:\#(port.number)/","secret":{"env":"HOOK"}}}"#
        let server = try await start(binding, app)
        #expect(try await name(ask(1, "de-DE", app, server), app) == "bleib")
        await server.stop(secrets: ["99371282"])
        #expect(try decisions(app) == ["rule failed"])
    }

    @Test func `a reload replaces the handler of an app, and keeps an unchanged one`() async throws {
        let app = try AppUnderTest()
        let program = Fixture.sampleHandlers + "/python/retention.py"
        let server = try await start(#"{"exec":["\#(program)"],\#(Self.config)}"#, app)
        #expect(try await ask(1, "de-DE", app, server)["promotionalOffer"] != nil)
        var same = server.configuration
        same.apps[0].noAnswer = .unavailable
        let kept = same
        await server.reload { () throws(ConfigurationError) in kept }
        #expect(try await ask(2, "de-DE", app, server)["promotionalOffer"] != nil)
        #expect(!server.log.lines.contains { $0.contains("handler process ended") })
        same.apps[0].handler = nil
        let without = same
        await server.reload { () throws(ConfigurationError) in without }
        #expect(try await name(ask(3, "de-DE", app, server), app) == "bleib")
        #expect(server.log.lines.contains { $0.contains("handler process ended") })
        await server.stop(secrets: ["99371282"])
    }
}
