import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Dispatch
import HandlerKit
import Payments
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import HandlerBridges
@testable import MessageServer

/// Payments over real sockets and pipes, with all waits divided by 100: the net charge of each token.
struct PaymentBindingTests {
    /// The binding of a business's handler.
    enum Binding: String, CaseIterable, Sendable {
        case swift, child, http
    }

    /// The tokens, each the time in seconds after which it is charged.
    ///
    /// At 6.01 s, after ten minutes on the divided clock, only a provider that remembers reversals can refuse; on a
    /// busy machine the charge at 5.5 s can be as late.
    private static let tokens = [
        "0.001", "0.249", "0.251", "0.29", "0.84", "0.86", "5.5 remembers", "6.01 remembers", "never",
    ]

    private static let request = PaymentRequest(
        OutboundBubble("Halibut"), total: .init("Fish", amount: "63.99"),
        lineItems: [.init("Halibut", amount: "63.99")], currency: "USD", country: "US", networks: ["visa"])

    /// The provider of the handlers: the file that `till.py` writes too.
    private struct Till: Sendable {
        let path: String

        /// Waits as long as a token says, and charges it; false when the provider refuses.
        func charge(_ token: String, key: String) async throws -> Bool {
            let seconds = Double(token.prefix { $0 != " " }) ?? 3600
            await withCheckedContinuation { continuation in
                DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { continuation.resume() }
            }
            if token.contains("remembers"), try lines().contains("reversal " + key) { return false }
            try record("charge " + key)
            return true
        }

        func record(_ line: String) throws {
            try File(path, for: .appending).append(Array((line + "\n").utf8))
        }

        func lines() throws -> [String] {
            guard Directory.exists(path) else { return [] }
            return String(decoding: try File(path, for: .reading).readAll(), as: UTF8.self)
                .split(separator: "\n").map(String.init)
        }

        /// Whether the money of this key is with the business.
        func net(_ key: String) throws -> Int {
            try lines().reduce(0) { $1 == "charge " + key ? 1 : $1 == "reversal " + key ? 0 : $0 }
        }
    }

    private struct SwiftTill: TextHandler, PaymentGatewayHandler {
        let till: Till

        func text(_: Text, _: Context) -> Outcome { .reply(.payment(PaymentBindingTests.request)) }

        func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome {
            let token = String(decoding: token.encryptedData, as: UTF8.self)
            guard try await till.charge(token, key: context.attempt) else { return .failure() }
            return .success(charged: context.sheet.total.amount, reference: "ch_1")
        }

        func reversal(_ reversal: PaymentReversal) async throws {
            try till.record("reversal " + reversal.attempt)
        }
    }

    private struct SwiftTillFactory: HandlerFactory {
        let till: Till
        let name = "till"
        func make(configuration: JSONValue?) -> any Handler { SwiftTill(till: till) }
    }

    /// A service that does what `till.py` does.
    private static func service(_ till: Till) throws -> HTTPServer {
        let hook = HTTPRoute(.post, "/hook", body: .collected(maximumBytes: 1 << 20)) { request, responder in
            let body = Array(request.body)
            Task { @concurrent in
                do {
                    let params = try JSONDocument(body).root
                    let key = params["attempt"]?.string ?? ""
                    switch params["call"]?.string {
                    case nil:
                        let reply = String(decoding: Self.request.json, as: UTF8.self)
                        responder.respond(HTTPResponse(.ok, json: Array(#"{"replies":[\#(reply)]}"#.utf8)))
                    case "paymentGateway":
                        let card = params["payment"]?["paymentToken"]?["paymentMethod"]
                        let token = card?["displayName"]?.string ?? ""
                        let isCharged = try await till.charge(token, key: key)
                        let answer =
                            isCharged
                            ? #"{"status":"STATUS_SUCCESS","charged":"63.99","reference":"ch_1"}"#
                            : #"{"status":"STATUS_FAILURE"}"#
                        responder.respond(HTTPResponse(.ok, json: Array(answer.utf8)))
                    default:
                        try till.record("reversal " + key)
                        responder.respond(HTTPResponse(.ok, json: Array("{}".utf8)))
                    }
                } catch {
                    responder.respond(HTTPResponse(.internalServerError))
                }
            }
            return nil
        }
        return try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: [hook])], shards: 1,
            logger: LogCollector().logger)
    }

    /// A server with one business, its provider and the service for merchant sessions.
    private struct Shop {
        let directory = TemporaryDirectory()
        let sessions: FakeMerchantSessions
        let service: HTTPServer
        let server: ServerUnderTest
        let till: Till
        let binding: String

        init(
            _ binding: Binding, isSerial: Bool = false, timings: ChildTimings = .quick, divisor: Int = 100
        ) async throws {
            let till = Till(path: directory.file("till"))
            self.till = till
            service = try PaymentBindingTests.service(till)
            let url = "http://\(try await service.start()[0])/hook"
            let sessions = try FakeMerchantSessions(
                directory: directory.path, logger: LogCollector().logger)
            try await sessions.start()
            self.sessions = sessions
            let request = JSONWriter.object {
                $0.field("TILL", till.path)
                $0.field("REQUEST", String(decoding: PaymentBindingTests.request.json, as: UTF8.self))
            }
            let program = Fixture.directory + "/handlers/till.py"
            self.binding =
                switch binding {
                case .swift: #"{"builtin": "till"}"#
                case .child:
                    #"{"exec": ["\#(program)"\#(isSerial ? #", "serial""# : "")], "environment": \#(String(decoding: request, as: UTF8.self))}"#
                case .http:
                    #"{"http": {"url": "\#(url)", "secret": {"env": "HOOK"}, "payments": ["paymentGateway"]}}"#
                }
            server = try await ServerUnderTest(
                bindings: [self.binding], timings: timings, handlers: [SwiftTillFactory(till: till)]
            ) { configuration in
                var merchant = MerchantIdentity(
                    merchantIdentifier: "merchant.com.example.fish", domainName: "shop.example",
                    displayName: "Fish", certificateFile: sessions.certificateFile, keyFile: sessions.keyFile)
                merchant.sessionURL = sessions.sessionURL ?? ""
                merchant.authoritiesFile = sessions.authoritiesFile
                configuration.businesses[0].applePay = ApplePayConfiguration(merchant: merchant)
                configuration.paymentTimings = PaymentTimings().divided(by: divisor)
            }
        }

        /// Asks a new customer for a payment, and pays with this token; returns the attempt and the answer.
        func pay(_ token: String) async throws -> (attempt: String, status: String?) {
            let customer = server.customer()
            #expect(try await customer.post(customer.message(.text, text: "Halibut")).status == 200)
            let message = try #require(await server.gateway.waitForMessages(customer: customer.id).first)
            let data = try #require(message.message.root["interactiveData"]?["data"])
            let identifier = try #require(data["requestIdentifier"]?.string)
            let url = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
            let body =
                #"{"requestIdentifier":"\#(identifier)","version":1,"payment":{"paymentToken":{"paymentData":{"data":"\#(Base64.encode(Array(token.utf8)))"},"paymentMethod":{"displayName":"\#(token)"}}}}"#
            let answer = try await server.transport.send(
                TransportRequest(
                    method: "POST", url: url, body: Array(body.utf8), timeout: .seconds(60),
                    allowsPlainHTTP: true))
            return (
                PaymentAttempt.id(requestIdentifier: identifier, encryptedData: Array(token.utf8)),
                try JSONDocument(answer.body).root["status"]?.string
            )
        }

        /// The latest recorded state of each attempt.
        func states() throws -> [String: String] {
            let list = try PaymentRecordList(dataDirectory: server.configuration.dataDirectory).attempts()
            return Dictionary(list.attempts.map { ($0.attempt, $0.state) }) { $1 }
        }

        func stop() async {
            await server.stop()
            await service.stop(within: .zero)
            await sessions.stop()
        }
    }

    @Test(arguments: Binding.allCases)
    func `a customer is charged once when the device was told, and else not at all`(
        binding: Binding
    ) async throws {
        let shop = try await Shop(binding)
        let paid = try await withThrowingTaskGroup(of: (token: String, attempt: String, status: String?).self)
        {
            group in
            for token in Self.tokens {
                group.addTask {
                    let answer = try await shop.pay(token)
                    return (token, answer.attempt, answer.status)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(paid.count == Self.tokens.count)
        // A busy machine may need more than the 250 ms of the divided clock.
        var status: String?
        for _ in 0..<100 where status != "STATUS_SUCCESS" { status = try await shop.pay("0.001").status }
        #expect(status == "STATUS_SUCCESS")
        for (token, attempt, status) in paid {
            let isTold = status == "STATUS_SUCCESS"
            // A task in this process that never returns leaves its attempt uncertain.
            let ends: Set = [
                "succeeded", "failed", binding == .swift && token == "never" ? "uncertain" : "reversed",
            ]
            let isEnded = try await eventually {
                let (state, net) = (try shop.states()[attempt], try shop.till.net(attempt))
                return ends.contains(state ?? "") && net == (isTold ? 1 : 0)
            }
            let state = try shop.states()[attempt]
            #expect(isEnded, "\(token): \(state ?? ""), told \(isTold)")
        }
        #expect(try !shop.till.lines().contains("cancel"))
        for (token, attempt, status) in paid {
            let net = try shop.till.net(attempt)
            #expect(net == (status == "STATUS_SUCCESS" ? 1 : 0), "\(token)")
        }
        await shop.stop()
    }

    @Test func `a program that does one thing at a time is not killed while it charges`() async throws {
        var timings = ChildTimings.quick
        // Long enough for a busy machine to answer the first event, and shorter than the charge.
        timings.silence = .milliseconds(500)
        timings.signOfLife = .milliseconds(500)
        // The device waits 1.25 s, so that a busy machine calls the program in time.
        let shop = try await Shop(.child, isSerial: true, timings: timings, divisor: 20)
        let (attempt, status) = try await shop.pay("4")
        #expect(status == "STATUS_FAILURE")
        // The reversal that was requested meanwhile waits behind the charge in the program's input.
        #expect(try await eventually { try shop.states()[attempt] == "reversed" })
        #expect(try shop.till.lines().contains("charge " + attempt))
        #expect(try shop.till.net(attempt) == 0)
        let handler = try await shop.server.handlers()["handlers"]?[0]
        #expect(handler?["restarts"]?.int == 0)
        await shop.stop()
    }

    @Test(arguments: [true, false])
    func `a restart or a reload ends no program that charges`(isReload: Bool) async throws {
        let shop = try await Shop(.child, divisor: 20)
        async let paid = shop.pay(isReload ? "4" : "2")
        #expect(try await eventually { try shop.states().values.contains("uncertain") })
        if isReload {
            await shop.server.reload { () throws(ConfigurationError) in
                var configuration = shop.server.configuration
                configuration.businesses[0].deadline = .seconds(20)
                return configuration
            }
            // Neither the reload nor the new program waits for the charge.
            #expect(
                try await eventually {
                    try await shop.server.handlers()["handlers"]?[0]?["health"]?.string == "ready"
                })
            #expect(try !shop.till.lines().contains { $0.hasPrefix("charge") })
        } else {
            let answer = try await shop.server.control(
                "/handlers/restart", method: "POST", body: Array(#"{"business":"b0"}"#.utf8))
            #expect(answer.status == 200)
        }
        // The charge and its late answer came before the end of the program.
        let attempt = try await paid.attempt
        let lines = try shop.till.lines()
        #expect(isReload || lines.contains("charge " + attempt))
        #expect(
            try await eventually {
                let state = try shop.states()[attempt]
                return try state == "reversed" && shop.till.net(attempt) == 0
            })
        #expect(try shop.till.lines().contains("charge " + attempt))
        await shop.stop()
    }
}
