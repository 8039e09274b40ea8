import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import Payments
import Simulator
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// The parts of a payment that are added when it is sent, with a simulated service for merchant sessions.
@Suite struct PaymentPartsTests {
    private struct Parts {
        let temporary = TemporaryStore()
        let certificates = TemporaryDirectory()
        let service: FakeMerchantSessions
        let store: Store
        let parts: PaymentParts
        let entry: OutboxEntry

        init(
            paths: ApplePayConfiguration.Paths = .constant,
            callbacks: Set<PaymentCallback.Kind>? = [.paymentGateway, .shippingMethodUpdate],
            now: @escaping @Sendable () -> Timestamp = { .now() }
        ) async throws {
            service = try FakeMerchantSessions(directory: certificates.path, logger: LogCollector().logger)
            try await service.start()
            var business = PaymentUnderTest.configuration
            business.applePay?.paths = paths
            business.applePay?.merchant.sessionURL = try #require(service.sessionURL)
            business.applePay?.merchant.authoritiesFile = service.authoritiesFile
            business.applePay?.merchant.certificateFile = service.certificateFile
            business.applePay?.merchant.keyFile = service.keyFile
            store = try temporary.open()
            parts = PaymentParts(
                requests: store.requests,
                settings: PaymentSettings([business], publicURL: "https://shop.example"),
                sessions: try MerchantSessionClient(pause: { _ in }), callbacks: { _ in callbacks }, now: now)
            entry = temporary.entry(.payment(PaymentUnderTest.request))
        }

        /// Returns the message, or the reason why it is refused.
        func result() async throws -> Result<[UInt8], ReplyRefused> {
            do { return .success(try await parts.complete(entry.reply.message, entry)) } catch let error
                as ReplyRefused
            {
                return .failure(error)
            }
        }

        func complete() async throws -> [UInt8]? {
            if case .success(let message) = try await result() { message } else { nil }
        }

        func refusal() async throws -> String? {
            if case .failure(let error) = try await result() { error.reason } else { nil }
        }

        func stop() async {
            await store.close()
            await service.stop()
        }
    }

    private static func data(_ message: [UInt8]) throws -> JSONValue {
        try #require(try JSONDocument(message).root["interactiveData"]?["data"])
    }

    @Test(arguments: ApplePayConfiguration.Paths.allCases)
    func `a payment gets identifier, endpoints, session and merchant when it is sent, and the same again`(
        paths: ApplePayConfiguration.Paths
    ) async throws {
        let under = try await Parts(paths: paths)
        let message = try #require(try await under.complete())
        let data = try Self.data(message)
        let gateway = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
        let identifier = try #require(data["requestIdentifier"]?.string)
        #expect(gateway.hasPrefix("https://shop.example/pay/") && gateway.hasSuffix("/paymentGateway"))
        #expect((gateway == "https://shop.example/pay/fish/paymentGateway") == (paths == .constant))
        #expect(identifier != under.entry.reply.id.rawValue)
        #expect(data["payment"]?["merchantSession"]?["initiativeContext"]?.string == gateway)
        #expect(under.service.contexts == [gateway])
        let endpoints = data["payment"]?["endpoints"]?.members.map(\.key).sorted()
        #expect(endpoints == ["fallbackUrl", "paymentGatewayUrl", "shippingMethodUpdateUrl"])
        let applePay = data["payment"]?["paymentRequest"]?["applePay"]
        #expect(applePay?["merchantIdentifier"]?.string == "merchant.com.example.fish")
        #expect(!String(decoding: message, as: UTF8.self).contains(SignInRequest.placeholder))
        let problems = OutboundMessage.problems(
            inJSON: message, needsEnvelope: true, now: SystemClock.secondsSince1970())
        #expect(problems.filter { $0.severity == .error } == [])
        #expect(try await under.complete() == message)
        #expect(under.service.requestCount == 1)
        // The queued message has none of them.
        let queued = String(decoding: under.entry.reply.message, as: UTF8.self)
        #expect(!queued.contains(identifier) && !queued.contains("PSH"))
        await under.stop()
    }

    @Test func `an accepted payment keeps neither its session nor its path`() async throws {
        let under = try await Parts(paths: .perRequest)
        let data = try Self.data(try #require(try await under.complete()))
        let session = try #require(data["payment"]?["merchantSession"]?["merchantSessionIdentifier"]?.string)
        let url = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
        let token = try #require(url.split(separator: "/").dropLast().last.map(String.init))
        #expect(token.utf8.count == 43)
        let file = { () async throws -> (OpenRequest, String) in
            let request = try #require(
                try await under.store.requests.update(of: under.entry.id) { request, _ in request })
            return (request, String(decoding: request.payload ?? [], as: UTF8.self))
        }
        let queued = try await file().1
        #expect(queued.contains(session) && queued.contains(token))
        try await under.parts.settle(under.entry, .accepted(status: 200))
        let (request, text) = try await file()
        #expect(!text.contains(session) && !text.contains(token))
        #expect(request.phase == .open)
        #expect(request.until == request.paymentPayload?.payment.endsAt)
        #expect(try under.store.requests.find(RequestName(of: token)) != nil)
        // The gateway's answer was lost, and the outbox sends again.
        #expect(try await under.refusal()?.contains("has been sent before") == true)
        await under.stop()
    }

    @Test func `a repeated send keeps the attempt of a customer whom an earlier send reached`() async throws {
        let under = try await Parts()
        _ = try await under.complete()
        // The gateway's answer was lost, and the customer pays.
        try await under.store.requests.update(of: under.entry.id) { request, now in
            guard var payload = request?.paymentPayload else { return }
            _ = payload.payment.begin(
                attempt: PaymentUnderTest.attempt(), shippingMethod: payload.payment.shown.shippingMethod,
                at: now)
            request?.set(payload)
        }
        #expect(try await under.refusal()?.contains("has been sent before") == true)
        try await under.parts.settle(under.entry, .refused(status: nil, reason: "sent before"))
        let request = try await under.store.requests.update(of: under.entry.id) { request, _ in request }
        #expect(request?.paymentPayload?.payment.attempts.count == 1)
        await under.stop()
    }

    @Test func `a repeated send of a payment that has ended asks for nothing`() async throws {
        let under = try await Parts()
        _ = try await under.complete()
        let identifier = try await under.store.requests.update(of: under.entry.id) { request, now in
            guard var payload = request?.paymentPayload else { return request?.requestIdentifier }
            payload.payment.finish(byEventOfPaid: false, at: now)
            request?.set(payload)
            request?.endPayment(by: nil, at: now)
            return request?.requestIdentifier
        }
        #expect(identifier != nil)
        #expect(try await under.refusal()?.contains("has been sent before") == true)
        #expect(try await under.store.requests.count() == 1)
        await under.stop()
    }

    @Test func `a payment that is not sent leaves no request`() async throws {
        let under = try await Parts()
        _ = try await under.complete()
        try await under.parts.settle(under.entry, .refused(status: 400, reason: "no"))
        #expect(try await under.store.requests.count() == 0)
        await under.stop()
    }

    @Test(arguments: [(59, 2), (120, 1)])
    func `a session of which less than a minute remains is renewed for the same address`(
        seconds: Int, sessions: Int
    ) async throws {
        let under = try await Parts()
        under.service.issue(for: .seconds(seconds))
        let first = try Self.data(try #require(try await under.complete()))
        under.service.issue(for: .seconds(300))
        let second = try Self.data(try #require(try await under.complete()))
        #expect(under.service.requestCount == sessions)
        #expect(Set(under.service.contexts).count == 1)
        #expect(first["requestIdentifier"]?.string == second["requestIdentifier"]?.string)
        await under.stop()
    }

    @Test(arguments: [
        (FakeMerchantSessions.Fault.status(400), "refused the merchant session with 400"),
        (.status(417), "refused the merchant session with 417"), (.html, "is not a merchant session"),
        (.expired, "has expired already"), (.otherMerchant, "is for another merchant"),
    ])
    func `a payment whose session is refused is not sent, and says why`(
        fault: FakeMerchantSessions.Fault, reason: String
    ) async throws {
        let under = try await Parts()
        under.service.misbehave(fault)
        let refusal = try #require(try await under.refusal())
        #expect(refusal.hasPrefix("not sent: ") && refusal.contains(reason))
        #expect(try await under.store.requests.count() == 0)
        await under.stop()
    }

    @Test func `a payment waits while Apple Pay's service is unavailable`() async throws {
        let under = try await Parts()
        under.service.misbehave(.status(503), times: 3)
        await #expect(throws: (any Error).self) { _ = try await under.complete() }
        #expect(try await under.complete() != nil)
        await under.stop()
    }

    @Test(
        arguments: [
            ([], "no payment gateway"), ([.shippingMethodUpdate], "no payment gateway"),
            ([.paymentGateway], "answers no shippingMethodUpdate"),
        ] as [(Set<PaymentCallback.Kind>, String)])
    func `a payment that the handler cannot take is refused before Apple is asked`(
        callbacks: Set<PaymentCallback.Kind>, reason: String
    ) async throws {
        let under = try await Parts(callbacks: callbacks)
        #expect(try await under.refusal()?.contains(reason) == true)
        #expect(under.service.requestCount == 0)
        await under.stop()
    }

    @Test(arguments: [
        (-1, #""EXPIRY""#, false), (0, "EXPIRY", false), (60, "EXPIRY", true), (60, #""EXPIRY""#, true),
    ])
    func `a hand-made payment is sent only before its own session expires`(
        seconds: Int, form: String, isSent: Bool
    ) async throws {
        let now = Timestamp(milliseconds: 1_795_000_000_000)
        let under = try await Parts(now: { now })
        let fixture = String(decoding: Fixture.bytes("outbound/applePay.json"), as: UTF8.self)
        let expiry = form.replacing("EXPIRY", with: "\(now.milliseconds + Int64(seconds) * 1000)")
        let text = fixture.replacing("\"expiresAt\": 1525730094057", with: "\"expiresAt\": \(expiry)")
        #expect(text != fixture)
        let entry = under.temporary.entry(try OutboundMessage(json: JSONDocument(Array(text.utf8))))
        do {
            let message = try await under.parts.complete(entry.reply.message, entry)
            #expect(isSent && message == entry.reply.message)
        } catch let error as ReplyRefused {
            #expect(!isSent && error.reason.contains("merchantSession has expired"))
        }
        #expect(under.service.requestCount == 0)
        await under.stop()
    }

    @Test func `a payment without merchants or a started handler stays in the outbox`() async throws {
        let starting = try await Parts(callbacks: nil)
        await #expect(throws: (any Error).self) { _ = try await starting.complete() }
        let command = PaymentParts(requests: starting.store.requests)
        await #expect(throws: (any Error).self) {
            _ = try await command.complete(starting.entry.reply.message, starting.entry)
        }
        #expect(starting.service.requestCount == 0)
        await starting.stop()
    }
}
