import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import HandlerKit
import HandlerProtocol
import ServerTestSupport
import Synchronization
import TestSupport
import Testing

@testable import HandlerBridges

/// The calls of a payment to handlers outside the process.
struct PaymentBridgeTests {
    private static let request = PaymentRequest(
        OutboundBubble("Halibut"), total: .init("Fish", amount: "63.99"),
        lineItems: [.init("Halibut", amount: "63.99")], currency: "USD", country: "US", networks: ["visa"])

    private func context(_ kind: PaymentCallback.Kind, _ method: String) throws -> PaymentContext {
        let body =
            #"{"requestIdentifier":"r","payment":{"paymentToken":{"paymentData":{"data":"AAAA"}},"#
            + #""shippingMethod":{"identifier":"\#(method)"}}}"#
        return PaymentContext(
            business: BusinessID("b"), customer: CustomerID("c"), message: MessageID("m"),
            request: Self.request, sheet: try PaymentSheet(Self.request),
            callback: try PaymentCallback(kind, try JSONDocument(Array(body.utf8)).root),
            attempt: kind == .paymentGateway ? "ab12" : "", deadline: .now + .seconds(25),
            logger: LogCollector().logger)
    }

    private func reversal(_ attempt: String) -> PaymentReversal {
        PaymentReversal(
            business: BusinessID("b"), customer: CustomerID("c"), message: MessageID("m"), attempt: attempt,
            amount: "63.99", currencyCode: "USD", deadline: .now + .seconds(25))
    }

    /// The bodies of 2xx answers, and whether each confirms a reversal.
    private static let bodies: [(type: String, body: String, confirms: Bool)] = [
        ("application/json", "", true), ("text/plain", "OK", true), ("application/json", "{}", true),
        ("text/html", "<html>log in</html>", false), ("text/plain", "<html>", false),
        ("application/json", #"{"status":"STATUS_SUC"#, false),
    ]

    @Test(arguments: bodies)
    func `a page confirms no reversal, and no body without a result tells whether something was charged`(
        _ type: String, _ body: String, _ confirms: Bool
    ) async throws {
        let hook = HTTPRoute(.post, "/", body: .collected(maximumBytes: 1 << 20)) { _, _ in
            HTTPResponse(.ok, contentType: type, body: Array(body.utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let handler = ServiceHandler(
            try #require(ServiceAddress("http://\(try await service.start()[0])/")),
            signature: WebhookSignature(secrets: [try Secret(webhook: ServiceHandlerTests.secret)]),
            subscriptions: [], payments: [.paymentGateway], transport: try CurlTransport())
        if confirms {
            try await handler.reversal(reversal("ab12"))
        } else {
            await #expect(throws: BridgeError.notJSON) { try await handler.reversal(self.reversal("ab12")) }
        }
        let context = try context(.paymentGateway, "a")
        await #expect(throws: (any Error).self) { try await handler.payment(context) }
        await service.stop(within: .zero)
    }

    /// Starts the program; the events of a business have a single slot, which payments do not need.
    private func child(
        _ directory: TemporaryDirectory, _ log: LogCollector,
        withdrawPayment: @escaping HandlerHost.WithdrawPayment = { _ in false }
    ) async throws -> ChildHandler {
        let program = Fixture.directory + "/handlers/cashier.py"
        let binding = HandlerBindingRequest(
            binding: try JSONDocument(Array(#"{"exec": ["\#(program)"]}"#.utf8)).root,
            business: BusinessID("b"), slug: "b", directory: directory.path,
            scratchDirectory: directory.file("scratch"), deadline: .seconds(1), maximumInFlight: 1,
            logger: log.logger)
        let handler = try ExecBinder(timings: .quick).child(binding)
        #expect(payments(of: handler) == nil)
        await handler.provision(
            HandlerHost(
                business: BusinessID("b"), slug: "b", logger: log.logger, withdrawPayment: withdrawPayment
            ) { _, _, _ in MessageID("") })
        #expect(await handler.waitUntilReady())
        return handler
    }

    @Test func `a program answers the calls of a payment that it named`() async throws {
        let (log, directory) = (LogCollector(), TemporaryDirectory())
        let handler = try await child(directory, log)
        #expect(payments(of: handler) == [.paymentGateway, .shippingMethodUpdate])
        #expect(
            try await dispatch(try context(.paymentGateway, "a"), to: handler)
                == .outcome(.success(charged: "63.99", reference: "ch_ab12")))
        guard
            case .update(let update) = try await dispatch(
                try context(.shippingMethodUpdate, "air"), to: handler)
        else { throw BridgeError.notJSON }
        #expect(update.total?.amount == "88.99")
        #expect(
            try await dispatch(try context(.shippingMethodUpdate, "a"), to: handler) == .update(.unchanged))
        #expect(try await dispatch(try context(.orderTracking, "a"), to: handler) == nil)
        await #expect(
            throws: BridgeError.paymentRefused(PaymentAnswerProblem(.unknownMember, at: "newtotal"))
        ) { try await dispatch(try self.context(.shippingMethodUpdate, "typo"), to: handler) }
        #expect(try await dispatch(reversal("ab12"), to: handler))
        await #expect(throws: BridgeError.self) { try await dispatch(self.reversal("lost"), to: handler) }
        #expect(!log.lines.contains { $0.contains("the bank is closed") })
        await handler.shutdown()
        withExtendedLifetime(directory) {}
    }

    @Test(arguments: [
        ("r-1", "withdrawn true"), ("r-2", "withdrawn false"), ("r-3", "error -32001"), (nil, "error -32602"),
    ])
    func `a program withdraws a payment request, and learns whether it was open`(
        identifier: String?, answer: String
    ) async throws {
        let (log, directory) = (LogCollector(), TemporaryDirectory())
        let handler = try await child(directory, log) { identifier in
            guard identifier != "r-3" else { throw HandlerHostError.notStored }
            return identifier == "r-1"
        }
        // The program withdraws what the shipping method names, and answers the update when it has the answer.
        let method = identifier.map { "withdraw \($0)" } ?? "withdraw"
        #expect(
            try await dispatch(try context(.shippingMethodUpdate, method), to: handler) == .update(.unchanged)
        )
        await log.first { $0.contains(answer) }
        await handler.shutdown()
        withExtendedLifetime(directory) {}
    }

    @Test func `a payment that is cancelled or whose program crashes fails at once`() async throws {
        let (log, directory) = (LogCollector(), TemporaryDirectory())
        let handler = try await child(directory, log)
        let hanging = try context(.shippingMethodUpdate, "hang")
        let call = Task { try await dispatch(hanging, to: handler) }
        #expect(
            try await dispatch(try context(.shippingMethodUpdate, "a"), to: handler) == .update(.unchanged))
        call.cancel()
        await #expect(throws: BridgeError.cancelled) { try await call.value }
        #expect(
            await eventually { await handler.report.log.contains { $0.contains("cancelled True") } })
        await #expect(throws: BridgeError.ended) {
            try await dispatch(try self.context(.paymentGateway, "crash"), to: handler)
        }
        await handler.shutdown()
        withExtendedLifetime(directory) {}
    }

    /// The end of a call that charges, for each failure of a bridge.
    private static let ends: [(BridgeError, PaymentCallEnd)] = [
        (.notRunning, .neverLeft), (.transport(.connectionFailed), .neverLeft),
        (.transport(.hostUnresolved), .neverLeft), (.transport(.certificateRefused), .neverLeft),
        (.ended, .seen), (.refused(RPCFailure(code: -32001, message: "")), .seen),
        (.transport(.interrupted(code: 56)), .unseen), (.transport(.timedOut), .unseen),
        (.transport(nil), .unseen), (.status(504), .unseen), (.status(404), .unseen), (.notJSON, .unseen),
        (.refused(RPCFailure(code: -32700, message: "")), .unseen),
        (.answerTooLarge(maximumBytes: 1), .unseen), (.timedOut, .unseen), (.notReading, .unseen),
        (.cancelled, .unseen), (.paymentRefused(PaymentAnswerProblem(.type, at: "charged")), .misanswered),
    ]

    @Test(arguments: ends)
    private func `a failure says whether the handler may still charge`(
        error: BridgeError, end: PaymentCallEnd
    ) {
        #expect(error.callEnd == end)
    }

    /// A call that charges, which the program does not answer.
    private func hanging(for time: Duration) throws -> PaymentContext {
        var context = try context(.paymentGateway, "hang")
        context.callEnds = .now + time
        return context
    }

    @Test func `a call that charges is not cancelled, and ends at its own time limit`() async throws {
        let (log, directory) = (LogCollector(), TemporaryDirectory())
        let handler = try await child(directory, log)
        let limited = try hanging(for: .milliseconds(200))
        await #expect(throws: BridgeError.timedOut) { try await dispatch(limited, to: handler) }
        let hanging = try hanging(for: .seconds(60))
        let call = Task { try await dispatch(hanging, to: handler) }
        // The program answers other calls meanwhile, and hears of no cancellation.
        #expect(
            try await dispatch(try context(.shippingMethodUpdate, "a"), to: handler) == .update(.unchanged))
        call.cancel()
        await #expect(throws: BridgeError.cancelled) { try await call.value }
        #expect(
            try await dispatch(try context(.shippingMethodUpdate, "a"), to: handler) == .update(.unchanged))
        #expect(await !handler.report.log.contains { $0.contains("cancelled") })
        await handler.shutdown()
        withExtendedLifetime(directory) {}
    }

    @Test func `a service gets each call of a payment once, signed, and its answer is checked`() async throws
    {
        let calls = Mutex<[String]>([])
        let secret = try Secret(webhook: ServiceHandlerTests.secret)
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, _ in
            let params = (try? JSONDocument(Array(request.body)))?.root
            func field(_ name: String) -> String {
                request.fields.first { $0.name.lowercased() == name }?.value ?? ""
            }
            let id = field("webhook-id")
            let signature = WebhookSignature(secrets: [secret]).sign(
                id: id, timestamp: Int(field("webhook-timestamp")) ?? 0,
                body: Array(request.body))
            let isSigned = field("webhook-signature") == signature
            let name = params?["call"]?.string ?? ""
            calls.withLock { $0.append("\(name) \(isSigned) \(name == "shippingMethodUpdate" ? "" : id)") }
            switch params?["payment"]?["shippingMethod"]?["identifier"]?.string {
            case "down": return HTTPResponse(.serviceUnavailable, text: "later")
            case "html": return HTTPResponse(.ok, text: "<html>")
            default: break
            }
            let answer = #"{"status":"STATUS_SUCCESS","charged":"63.99","reference":"r"}"#
            return HTTPResponse(.ok, json: Array((name == "paymentGateway" ? answer : "{}").utf8))
        }
        let service = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
        let url = "http://\(try await service.start()[0])/hook"
        let binding = HandlerBindingRequest(
            binding: try JSONDocument(
                Array(
                    #"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}, "payments": ["paymentGateway", "shippingMethodUpdate"]}}"#
                        .utf8)
            ).root,
            business: BusinessID("b"), slug: "b", directory: "/", scratchDirectory: "/",
            deadline: .seconds(1),
            maximumInFlight: 1, logger: LogCollector().logger)
        let handler = try HTTPBinder(environment: ["HOOK": ServiceHandlerTests.secret]).make(binding)
        #expect(payments(of: handler) == [.paymentGateway, .shippingMethodUpdate])
        #expect(
            try await dispatch(try context(.paymentGateway, "a"), to: handler)
                == .outcome(.success(charged: "63.99", reference: "r")))
        #expect(
            try await dispatch(try context(.shippingMethodUpdate, "a"), to: handler) == .update(.unchanged))
        #expect(try await dispatch(reversal("ab12"), to: handler))
        await #expect(throws: BridgeError.status(503)) {
            try await dispatch(try self.context(.paymentGateway, "down"), to: handler)
        }
        await #expect(throws: BridgeError.notJSON) {
            try await dispatch(try self.context(.paymentGateway, "html"), to: handler)
        }
        #expect(
            calls.withLock { $0 } == [
                "paymentGateway true ab12", "shippingMethodUpdate true ", "reversal true reversal-ab12",
                "paymentGateway true ab12", "paymentGateway true ab12",
            ])
        await service.stop(within: .zero)
    }

    @Test(arguments: ["paymentGateway", "shippingMethodUpdate", "reversal"])
    func `a service that closes after reading gets each call of a payment once, and its events perhaps twice`(
        call: String
    ) async throws {
        let received = Mutex<[String]>([])
        let server = LoopbackServer { request in
            let name = request.head[0].contains("/events") ? "event" : call
            let count = received.withLock { received in
                received.append(name)
                return received.count
            }
            return count == 1 ? .answer(ok()) : .answerAndClose("")
        }
        let transport = try CurlTransport()
        func handler(_ path: String) throws -> ServiceHandler {
            ServiceHandler(
                try #require(ServiceAddress(server.url(path))),
                signature: WebhookSignature(secrets: [try Secret(webhook: ServiceHandlerTests.secret)]),
                subscriptions: [.kind(.text)], payments: [.paymentGateway, .shippingMethodUpdate],
                transport: transport)
        }
        // The first event leaves an open connection behind, which a later request would reuse.
        _ = try await handler("/events").handle(event())
        await #expect(throws: BridgeError.self) {
            switch call {
            case "reversal": try await handler("/payments").reversal(self.reversal("ab12"))
            default:
                _ = try await handler("/payments").payment(
                    self.context(call == "paymentGateway" ? .paymentGateway : .shippingMethodUpdate, "a"))
            }
        }
        await #expect(throws: BridgeError.self) { try await handler("/events").handle(self.event()) }
        #expect(received.withLock { $0 } == ["event", call, "event", "event"])
    }

    private func event() throws -> Context {
        Context(
            event: .decode(message: try JSONDocument(Array(#"{"type":"text","body":"Hi"}"#.utf8))),
            conversation: Conversation(), deliveryID: DeliveryID("1"), deadline: .now + .seconds(60),
            logger: LogCollector().logger)
    }

    @Test(arguments: ["[]", #"["reversal"]"#, #""paymentGateway""#, "[1]"])
    func `a binding whose payments are no list of callbacks is refused`(list: String) throws {
        let binding = HandlerBindingRequest(
            binding: try JSONDocument(
                Array(
                    #"{"http": {"url": "https://a", "secret": {"env": "HOOK"}, "payments": \#(list)}}"#.utf8)
            ).root,
            business: BusinessID("b"), slug: "b", directory: "/", scratchDirectory: "/",
            deadline: .seconds(1),
            maximumInFlight: 1, logger: LogCollector().logger)
        #expect(throws: BindingError.paymentsExpected) {
            try HTTPBinder(environment: ["HOOK": ServiceHandlerTests.secret]).make(binding)
        }
    }
}
