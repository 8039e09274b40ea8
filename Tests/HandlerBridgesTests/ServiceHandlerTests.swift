import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import HandlerProtocol
import MessageServer
import MessageStore
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import HandlerBridges

struct ServiceHandlerTests {
    static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    private static let newSecret = "whsec_bmV3IHNlY3JldCBvZiB0aGUgZmlzaG1vbmdlciE="

    @Test func `the signature matches the specification's sample`() throws {
        let signature = WebhookSignature(secrets: [try Secret(webhook: Self.secret)])
        let value = signature.sign(
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
            body: Array(#"{"test": 2432232314}"#.utf8))
        #expect(value == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    }

    @Test func `both secrets sign while a secret is replaced`() throws {
        let other = Secret.random(byteCount: 32)
        let both = WebhookSignature(secrets: [try Secret(webhook: Self.secret), other])
        let parts = both.sign(id: "a", timestamp: 1, body: []).split(separator: " ")
        #expect(parts.count == 2)
        #expect(
            parts.last.map(String.init)
                == WebhookSignature(secrets: [other]).sign(id: "a", timestamp: 1, body: []))
    }

    @Test func `half an emoji does not reach the body of a request or an event's file`() throws {
        let message = #"{"body":"\ud83d \ud83d\ude00"}"#
        let shown = Array(#"{"body":"\ufffd \ud83d\ude00"}"#.utf8)
        let request = try handler().request(Array(message.utf8), id: "a", until: .now + .seconds(1), now: 1)
        #expect(request.body == shown)
        let signature = WebhookSignature(secrets: [try Secret(webhook: Self.secret)])
        #expect(
            request.headers.first { $0.name == "webhook-signature" }?.value
                == signature.sign(id: "a", timestamp: 1, body: shown))
        let directory = TemporaryDirectory()
        let file = try ScratchFile.write(Array(message.utf8)[...], in: directory.path, name: "a")
        #expect(try Descriptor.open(reading: file.path).readToEnd(maximumBytes: 1 << 10) == shown)
    }

    @Test(arguments: ["", "whsec_", "short", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS!"])
    func `an invalid secret is refused`(_ text: String) {
        #expect(throws: WireError.self) { try Secret(webhook: text) }
    }

    private static let answers: [(Int, String?, String, Outcome)] = [
        (200, nil, #"{"replies":["Hello"]}"#, .reply("Hello")), (202, nil, "", .handled),
        (429, "7", "", .retry(after: .seconds(7))), (503, "0", "", .retry(after: .zero)),
        (503, "Sun, 06 Nov 1994 08:49:37 GMT", "", .retry(after: .zero)),
        (410, nil, "", .reject(reason: "the service answered with status 410")),
    ]

    @Test(arguments: answers)
    func `a status of the service maps to an outcome`(
        _ status: Int, _ retryAfter: String?, _ body: String, _ outcome: Outcome
    ) throws {
        let headers = retryAfter.map { [(name: "Retry-After", value: $0)] } ?? []
        let response = TransportResponse(status: status, headers: headers, body: Array(body.utf8))
        #expect(try handler().outcome(response) == outcome)
    }

    @Test(arguments: [
        (500, "", BridgeError.status(500)), (302, "", .status(302)), (408, "", .status(408)),
    ])
    func `a status that may be temporary is thrown as an error`(
        _ status: Int, _ body: String, _ error: BridgeError
    ) {
        let response = TransportResponse(status: status, body: Array(body.utf8))
        #expect(throws: error) { try handler().outcome(response) }
    }

    private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
    private static func gzip(_ text: String) -> [UInt8] { GzipCompressor().compress(bytes(text)) }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let hello = #"{"replies":["Hello"]}"#

    private static let successes: [(type: String?, body: [UInt8], outcome: Outcome)] = [
        (nil, [], .handled), ("text/html", [], .handled),
        ("application/json", bytes(" \r\n\t"), .handled),
        (nil, mark, .handled), (nil, gzip(""), .handled),
        ("text/plain", bytes("OK"), .handled),
        // Without a type a body is read as a text.
        (nil, bytes("OK"), .handled), (nil, bytes("hello"), .handled),
        (nil, mark + bytes("OK\r\n"), .handled),
        (nil, bytes("Gespeichert, danke für alles"), .handled), ("", bytes("OK"), .handled),
        (nil, Array(repeating: 0x61, count: 200), .handled), (nil, bytes(hello), .reply("Hello")),
        ("Text/Plain; charset=utf-8", bytes("OK\n"), .handled),
        ("text/plain", bytes(#""OK""#), .handled), ("text/plain", bytes("1"), .handled),
        ("text/plain", gzip("accepted"), .handled),
        ("text/plain", Array(repeating: 0x61, count: 200), .handled),
        ("application/json", bytes("null"), .handled), ("application/json", bytes("{}"), .handled),
        ("application/json", bytes("\u{FEFF}" + hello), .reply("Hello")),
        ("text/plain", bytes(hello), .reply("Hello")),
        ("text/html", bytes(hello), .reply("Hello")), ("application/json", gzip(hello), .reply("Hello")),
        (nil, gzip("\u{FEFF}" + hello), .reply("Hello")),
    ]

    @Test(arguments: successes)
    func `an answer of 2xx that is empty or a short text handles the event, and JSON is its outcome`(
        _ type: String?, _ body: [UInt8], _ outcome: Outcome
    ) throws {
        let headers = type.map { [(name: "content-type", value: $0)] } ?? []
        for status in [200, 201, 202, 204, 299] {
            let response = TransportResponse(status: status, headers: headers, body: body)
            #expect(try handler().outcome(response) == outcome)
        }
    }

    private static let pages: [(type: String?, coding: String?, body: [UInt8], rule: String, found: String)] =
        [
            ("text/html", nil, bytes("<html>log in"), "json", "an HTML page"),
            ("text/html", nil, bytes("maintenance"), "json", "an HTML page"),
            ("text/plain", nil, bytes("<!DOCTYPE html>"), "json", "an HTML page"),
            (nil, nil, bytes("<p>hello"), "json", "an HTML page"),
            (nil, nil, bytes(#"{"replies":["Hel"#), "json", "the text ends too early"),
            (nil, nil, bytes("[1"), "json", "the text ends too early"),
            (nil, nil, Array(repeating: 0x61, count: 201), "json", "a body that is not JSON"),
            (nil, "br", bytes("hello"), "json", "a Content-Encoding other than gzip"),
            ("text/plain", "br", bytes("hello"), "json", "a Content-Encoding other than gzip"),
            ("application/json", nil, bytes("OK"), "json", "a body that is not JSON"),
            ("application/json", nil, bytes(#"{"replies":["Hel"#), "json", "the text ends too early"),
            ("text/plain", nil, bytes(#"{"replies":["Hel"#), "json", "the text ends too early"),
            ("text/plain", nil, bytes("[1"), "json", "the text ends too early"),
            ("text/plain", nil, Array(repeating: 0x61, count: 201), "json", "a body that is not JSON"),
            ("application/json", nil, bytes("{} {}"), "json", "more than one value"),
            ("application/json", nil, bytes(#"{"replies":[NaN]}"#), "json", "unexpected character"),
            ("application/json", nil, [0x7B, 0xFF, 0x7D], "json", "a body that is not JSON"),
            (
                "application/json", nil, bytes(String(repeating: "[", count: 1000)), "json",
                "nested deeper"
            ),
            ("application/json", "br", [0x0B, 0x02, 0x80], "json", "a Content-Encoding other than gzip"),
            ("application/json", "gzip", [0x1F, 0x8B, 0x08, 0x00], "json", "a damaged gzip body"),
            (
                "application/json", "gzip", gzip(String(repeating: " ", count: 1 << 20) + "1"), "answerSize",
                "after inflation"
            ),
            ("application/json", nil, bytes("[]"), "type", "an empty list"),
        ]

    @Test(arguments: pages)
    func `an answer of 2xx that is a page or damaged is refused`(
        _ type: String?, _ coding: String?, _ body: [UInt8], _ rule: String, _ found: String
    ) throws {
        let headers = [("content-type", type), ("content-encoding", coding)]
            .compactMap { name, value in value.map { (name: name, value: $0) } }
        let response = TransportResponse(status: 200, headers: headers, body: body)
        let refusal = #expect(throws: AnswerRefusal.self) { try handler().outcome(response) }
        #expect(refusal?.problems.map(\.rule) == [rule])
        #expect(refusal?.problems.first?.found.contains(found) ?? false, "\(refusal?.problems ?? [])")
        #expect(refusal?.problems.first?.passage.isEmpty == false)
    }

    @Test func `a status of 422 with problems refuses the answer, and without any rejects the event`() throws
    {
        let problems =
            #"{"problems":[{"rule":"quickReplyCount","pointer":"/a","found":"1 item","allowed":"2 to 5"}]}"#
        let refusal = #expect(throws: AnswerRefusal.self) {
            try handler().outcome(TransportResponse(status: 422, body: Array(problems.utf8)))
        }
        let passage = "Apple MSP API, \"Quick Reply Message\""
        #expect(
            refusal?.problems == [
                .init(
                    rule: "quickReplyCount", pointer: "/a", found: "1 item", allowed: "2 to 5",
                    passage: passage)
            ])
        for body in [
            "", "<html>", "{}", #"{"problems":[]}"#, #"{"problems":["a"]}"#, #"{"problems":{"a":1}}"#,
        ] {
            let outcome = try handler().outcome(TransportResponse(status: 422, body: Array(body.utf8)))
            #expect(outcome == .reject(reason: "the service answered with status 422"))
        }
    }

    @Test func `a service that names files gets one problem that says so`() throws {
        let file = #"{"path":"/etc/passwd","name":"a.pdf","mimeType":"application/pdf"}"#
        let answer = #"{"replies":["fine",{"type":"text","body":"Look:","attachments":[\#(file),\#(file)]}]}"#
        let refusal = #expect(throws: AnswerRefusal.self) {
            try handler().outcome(TransportResponse(status: 200, body: Array(answer.utf8)))
        }
        #expect(refusal?.problems.map(\.pointer) == ["/replies/1/attachments"])
        #expect(refusal?.problems.first?.rule == "attachmentFile")
        #expect(refusal?.problems.first?.allowed.contains("only a child process attaches files") ?? false)
    }

    @Test(arguments: [("text/html", 200, "<html>maintenance</html>"), ("application/json", 422, problems)])
    func `a refused answer of a service is one dead letter, and the fallback answers the customer`(
        _ type: String, _ status: Int, _ body: String
    ) async throws {
        let calls = Mutex(0)
        let status = try #require(HTTPStatus(code: status))
        let codings = Mutex<[String?]>([])
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            calls.withLock { $0 += 1 }
            codings.withLock { codings in
                codings.append(request.fields.first { $0.name.lowercased() == "accept-encoding" }?.value)
            }
            return HTTPResponse(status, contentType: type, body: Array(body.utf8))
        }
        let (service, origin) = try await serve(hook)
        let server = try await ServerUnderTest(bindings: [
            #"{"handler": {"http": {"url": "\#(origin)/", "secret": {"env": "HOOK"}}}, "#
                + #""fallback": {"text": "An agent will reply."}}"#
        ])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["An agent will reply."])
        await server.stages.first { $0.stage == .finish }
        await server.stop()
        await service.stop(within: .zero)
        let dead = try JournalFiles(dataDirectory: server.directory.file("data")).events {
            $0.status == .failed
        }
        #expect(dead.count == 1)
        #expect(dead.first?.problems?[0]?["passage"]?.string?.isEmpty == false)
        #expect(calls.withLock { $0 } == 1)
        #expect(codings.withLock { $0 } == ["identity"])
        #expect(!server.log.lines.contains { $0.contains("maintenance") })
    }

    private static let problems =
        #"{"problems":[{"rule":"type","pointer":"/state/price","found":"NaN","allowed":"a finite number"}]}"#

    @Test func `an answer that breaks a rule is refused`() throws {
        let response = TransportResponse(status: 200, body: Array(#"{"outcome":"perhaps"}"#.utf8))
        let refusal = #expect(throws: AnswerRefusal.self) { try handler().outcome(response) }
        #expect(refusal?.problems.map(\.pointer) == ["/outcome"])
    }

    @Test(arguments: [(500, "no database"), (200, "<html>")])
    func `handlers logs quotes an answer that is no outcome, and the server's log does not`(
        _ status: Int, _ body: String
    ) async throws {
        let status = try #require(HTTPStatus(code: status))
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            HTTPResponse(status, text: body)
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let handler = try handler("http://\(try await service.start()[0])")
        let error = await #expect(throws: (any Error).self) { try await handler.handle(try self.context()) }
        #expect((error as? any LoggableError)?.reason.contains(body) == false)
        #expect(handler.report.log.count == 1)
        #expect(handler.report.log.last?.hasSuffix(": " + body) == true)
        await service.stop(within: .zero)
    }

    @Test func `an answer that is too large is reported as such`() {
        let failure = ServiceHandler.failure(.responseTooLarge(maximumBytes: 7))
        #expect(failure == .answerTooLarge(maximumBytes: 7))
        #expect(failure.reason.contains("more than 7 bytes"))
        #expect(
            ServiceHandler.failure(.connectionFailed).reason
                == "the service could not be reached: the connection was refused")
        #expect(ServiceHandler.failure(.cancelled) == .cancelled)
    }

    @Test func `a service that does not answer overruns its deadline, and does not count as unreachable`()
        async throws
    {
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in nil }
        let (service, origin) = try await serve(hook)
        let handler = try handler(origin + "/")
        let context = try context(within: .milliseconds(200))
        await #expect(throws: BridgeError.overran) { try await handler.handle(context) }
        #expect(BridgeError.overran.reason == "the handler overran its deadline")
        await service.stop(within: .zero)
    }

    @Test func `a service that redirects counts as down`() async throws {
        let found = try #require(HTTPStatus(code: 302))
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            HTTPResponse(found, text: "log in\n")
        }
        let (service, origin) = try await serve(hook)
        let handler = try handler(origin + "/")
        let context = try context()
        for _ in 0..<3 {
            await #expect(throws: BridgeError.status(302)) { try await handler.handle(context) }
        }
        #expect(handler.downSince != nil)
        await service.stop(within: .zero)
    }

    private static let addresses: [(String, String?, String?)] = [
        ("https://a.example/hook", "https://a.example/hook", nil), ("http://a/", "http://a/", nil),
        ("unix:/run/bot.sock", "http://localhost/", "/run/bot.sock"),
        ("unix:/run/bot.sock:/hook?a=b", "http://localhost/hook?a=b", "/run/bot.sock"),
        ("unix:bot:1.sock:/hook", "http://localhost/hook", "bot:1.sock"), ("unix:", nil, nil),
        ("ftp://a", nil, nil), ("bot.sock", nil, nil),
        ("unix:" + String(repeating: "s", count: 108), nil, nil), ("unix:/a:/b c", nil, nil),
    ]

    @Test(arguments: addresses)
    func `the address of a service is a URL, or a socket with a path`(
        _ text: String, _ url: String?, _ socket: String?
    ) {
        let address = ServiceAddress(text)
        #expect(address?.url == url)
        #expect(address?.socket == socket)
    }

    @Test func `a service counts as down after three consecutive failures, until it answers`() async throws {
        let port = RefusingPort()
        let handler = try handler(port.origin)
        let context = try context()
        for failure in 1...3 {
            #expect(handler.downSince == nil)
            await #expect(throws: BridgeError.transport(.connectionFailed)) {
                try await handler.handle(context)
            }
            #expect(handler.report.health == (failure < 3 ? .restarting : .open))
        }
        #expect(handler.downSince != nil)
        #expect(handler.report.log.count { $0.hasSuffix("the connection was refused") } == 3)
        handler.restart()
        #expect(handler.downSince == nil)
        withExtendedLifetime(port) {}
    }

    @Test(arguments: [401, 403, 404])
    func `a service that refuses every event is down, and waiting costs the event no attempt`(
        _ status: Int
    ) async throws {
        let wrong = try #require(HTTPStatus(code: status))
        let calls = Mutex(0)
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            let count = calls.withLock { calls in
                calls += 1
                return calls
            }
            guard count > 2 else { return HTTPResponse(wrong, text: "unknown caller\n") }
            return HTTPResponse(.ok, json: Array(#"{"replies":["now"]}"#.utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/"
        let server = try await ServerUnderTest(bindings: [
            #"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}}}"#
        ])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["now"])
        let end = try #require(await server.stages.first { $0.stage == .finish })
        #expect(end.attempt == 1)
        #expect(
            server.log.lines.count {
                $0.contains("the handler's service refuses every event") && $0.contains("\(status)")
            } == 1)
        #expect(!server.log.lines.contains { $0.contains("not answer") })
        #expect(!server.log.lines.contains { $0.contains("unknown caller") })
        #expect(try await server.logTail().contains { $0.contains("\(status): unknown caller") })
        await server.stop()
        await service.stop(within: .zero)
    }

    @Test func `a fallback answers for a service that refuses every event`() async throws {
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            HTTPResponse(.notFound)
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/"
        let server = try await ServerUnderTest(bindings: [
            #"{"handler": {"http": {"url": "\#(url)", "secret": {"env": "HOOK"}}}, "#
                + #""fallback": {"text": "An agent will reply.", "afterSeconds": 0}}"#
        ])
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.map { $0.message.root["body"]?.string } == ["An agent will reply."])
        await server.stop()
        await service.stop(within: .zero)
    }

    @Test func `a service that is down is probed after 1 to 60 seconds, by one event at a time`() {
        var schedule = ProbeSchedule()
        let now = ContinuousClock.now
        #expect(schedule.delay(at: now) == nil)
        var waits: [Duration] = []
        for _ in 0..<8 {
            schedule.fail(at: now)
            waits.append(schedule.delay(at: now) ?? .zero)
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        // The first call sends the probe; without an answer, the next probe follows a minute later.
        #expect(schedule.delay(at: now + .seconds(60)) == nil)
        #expect(schedule.delay(at: now + .seconds(60)) == .seconds(60))
    }

    @Test(arguments: [false, true])
    func `an event is posted to the service, signed, and its reply reaches the customer`(_ usesSocket: Bool)
        async throws
    {
        let seen = Mutex<[String]>([])
        let signature = WebhookSignature(secrets: [try Secret(webhook: Self.secret)])
        let directory = TemporaryDirectory()
        let socket = try #require(SocketAddress("unix:" + directory.file("bot.sock")))
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            let names = ["webhook-id", "webhook-timestamp", "webhook-signature"]
            let values = names.map { name in
                request.fields.first { $0.name.lowercased() == name }?.value ?? ""
            }
            let expected = signature.sign(
                id: values[0], timestamp: Int(values[1]) ?? 0, body: Array(request.body))
            let parts = values[0].split(separator: ".")
            // The id has two parts: the identity of the data directory, and the delivery.
            let isGlobal = parts.count == 2 && parts[0].utf8.count == 32 && Int(parts[1]) != nil
            seen.withLock { $0.append(values[2] == expected && isGlobal ? "signed" : "forged") }
            return HTTPResponse(.ok, json: Array(#"{"replies":["from the service"]}"#.utf8))
        }
        let (service, origin) = try await usesSocket ? serve(hook, at: socket) : serve(hook)
        let url = usesSocket ? "unix:bot.sock:/hook" : origin + "/hook"
        let server = try await ServerUnderTest(
            bindings: [#"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}}}"#], directory: directory)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let replies = await server.gateway.waitForMessages(customer: customer.id)
        #expect(replies.first?.message.root["body"]?.string == "from the service")
        #expect(seen.withLock { $0 } == ["signed"])
        await server.stop()
        await service.stop(within: .zero)
    }

    @Test
    func `a service that asks for a delay is called again, and a replaced secret applies after a reload`()
        async throws
    {
        let times = Mutex<[(instant: ContinuousClock.Instant, attempt: String, signatures: [String])]>([])
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            func value(_ name: String) -> String {
                request.fields.first { $0.name.lowercased() == name }?.value ?? ""
            }
            let body = Array(request.body)
            let signers = [Self.secret, Self.newSecret].map { secret in
                (try? Secret(webhook: secret)).map { WebhookSignature(secrets: [$0]) }
            }
            let expected = signers.map {
                $0?.sign(id: value("webhook-id"), timestamp: Int(value("webhook-timestamp")) ?? 0, body: body)
            }
            let signatures = value("webhook-signature").split(separator: " ").map { signature in
                expected.firstIndex { $0 == String(signature) }.map { ["old", "new"][$0] } ?? "forged"
            }
            let count = times.withLock { times in
                times.append((.now, value("balloon-attempt"), signatures))
                return times.count
            }
            guard count == 1 else { return HTTPResponse(.ok, json: Array(#"{"replies":["now"]}"#.utf8)) }
            return HTTPResponse(.serviceUnavailable, fields: [("Retry-After", "2")])
        }
        let (service, origin) = try await serve(hook)
        let url = origin + "/hook"
        let directory = TemporaryDirectory()
        try AtomicFile.write(Array(Self.secret.utf8), to: directory.file("new"))
        let binding = #"{"http": {"url": "\#(url)", "secret": [{"file": "new"}, {"env": "HOOK"}]}}"#
        let server = try await ServerUnderTest(bindings: [binding], directory: directory)
        for round in 1...2 {
            let customer = server.customer()
            #expect(try await customer.post(customer.message(.text)).status == 200)
            let replies = await server.gateway.waitForMessages(customer: customer.id)
            #expect(replies.map { $0.message.root["body"]?.string } == ["now"])
            guard round == 1 else { break }
            try AtomicFile.write(Array(Self.newSecret.utf8), to: directory.file("new"))
            await server.reload([binding])
        }
        await server.stop()
        await service.stop(within: .zero)
        let calls = times.withLock { $0 }
        #expect(calls.map(\.attempt) == ["1", "2", "1"])
        #expect(calls.map(\.signatures) == [["old", "old"], ["old", "old"], ["new", "old"]])
        // The schedule alone would have retried after one second.
        #expect(calls[1].instant - calls[0].instant >= .milliseconds(1900))
    }

    @Test func `a handler is not called when the history is unreadable`() async throws {
        struct Damaged: Error {}
        let context = try context(Conversation { throw Damaged() })
        // No service listens at the address, so calling it would throw a different error.
        let port = RefusingPort()
        await #expect(throws: Damaged.self) { try await handler(port.origin).handle(context) }
        await #expect(throws: BridgeError.transport(.connectionFailed)) {
            try await handler(port.origin).handle(self.context())
        }
        withExtendedLifetime(port) {}
    }

    private func context(
        _ conversation: Conversation = Conversation(), within time: Duration = .seconds(60)
    ) throws -> Context {
        Context(
            event: .decode(message: try JSONDocument(Array(#"{"type":"text","body":"Hi"}"#.utf8))),
            conversation: conversation, deliveryID: DeliveryID("1"), deadline: .now + time,
            logger: LogCollector().logger)
    }

    /// Starts an author's service with one route.
    private func serve(
        _ hook: HTTPRoute, at address: SocketAddress = .tcp(host: "127.0.0.1", port: 0)
    ) async throws -> (service: HTTPServer, origin: String) {
        let service = try HTTPServer(
            listeners: [HTTPListener(address, routes: [hook])], shards: 1, logger: LogCollector().logger)
        return (service, "http://\(try await service.start()[0])")
    }

    private func handler(_ address: String = "http://127.0.0.1/") throws -> ServiceHandler {
        ServiceHandler(
            try #require(ServiceAddress(address)),
            signature: WebhookSignature(secrets: [try Secret(webhook: Self.secret)]),
            subscriptions: [.kind(.text)], transport: try CurlTransport())
    }
}
