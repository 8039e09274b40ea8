import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Logging
import Payments
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// One open payment request of 63.99 USD with two shipping methods, in a store, with everything that answers its device.
final class PaymentUnderTest: Sendable {
    static let identifier = "8EF7A0B4-0000-4000-8000-000000000001"
    static let customer = CustomerID("urn:mbid:c")
    static let business = BusinessID("b")

    let temporary: TemporaryStore
    let store: Store
    let clock: ManualPaymentClock
    let handler: ScriptedPayments
    let settings: PaymentSettings
    let reversals: PaymentReversals
    let flow: PaymentFlow
    let results: PaymentResults
    let records: PaymentRecords
    let log: LogCollector
    private let running: Task<Void, Never>

    init(
        _ handler: ScriptedPayments, attempts: [(id: String, state: PaymentAttempt.State)] = [],
        decryption: ApplePayConfiguration.Decryption? = nil,
        reversalLifetime: Duration = .seconds(72 * 3600), after earlier: PaymentUnderTest? = nil
    ) async throws {
        self.handler = handler
        temporary = earlier?.temporary ?? TemporaryStore()
        clock = earlier?.clock ?? ManualPaymentClock()
        log = earlier?.log ?? LogCollector()
        store = if let earlier { earlier.store } else { try temporary.open() }
        var configuration = Self.configuration
        configuration.applePay?.decryption = decryption
        settings = PaymentSettings([configuration], publicURL: "https://shop.example")
        records = PaymentRecords(dataDirectory: temporary.directory.file("data"), logger: log.logger)
        reversals = PaymentReversals(
            requests: store.requests, settings: settings, handlers: handler, records: records,
            clock: clock.clock, lifetime: reversalLifetime, backoff: Backoff([.seconds(1)]),
            logger: log.logger)
        flow = PaymentFlow(
            requests: store.requests, settings: settings, handlers: handler, reversals: reversals,
            records: records, clock: clock.clock, logger: log.logger)
        results = PaymentResults(
            requests: store.requests, settings: settings, reversals: reversals, clock: clock.clock)
        if earlier == nil {
            try await Self.addRequest(to: store, at: clock.clock.now(), attempts: attempts)
        }
        running = Task { [reversals] in await reversals.run() }
    }

    /// A server that was started after this one was killed; a call that this one made is never answered.
    func restarted() async throws -> PaymentUnderTest {
        reversals.stop()
        await running.value
        return try await PaymentUnderTest(handler, after: self)
    }

    static var configuration: BusinessConfiguration {
        var merchant = MerchantIdentity(
            merchantIdentifier: "merchant.com.example.fish", domainName: "shop.example",
            displayName: "Sam's Fish", certificateFile: "c", keyFile: "k")
        merchant.sessionURL = "https://127.0.0.1:1/"
        var business = BusinessConfiguration(
            slug: "fish", businessID: business, name: "Sam's Fish",
            handler: .builtin(name: "none", configuration: nil))
        business.applePay = ApplePayConfiguration(merchant: merchant)
        business.applePay?.domainAssociation = Array("proof".utf8)
        return business
    }

    static var request: PaymentRequest {
        var request = PaymentRequest(
            OutboundBubble("Halibut"), total: .init("Sam's Fish", amount: "63.99"),
            lineItems: [.init("Halibut", amount: "59.00"), .init("Shipping", amount: "4.99")],
            currency: "USD", country: "US", networks: ["visa"])
        request.shippingMethods = [
            .init("cheap", label: "Ground", detail: "5 days", amount: "4.99"),
            .init("dear", label: "Air", detail: "1 day", amount: "29.99"),
        ]
        return request
    }

    private static func addRequest(
        to store: Store, at now: Timestamp, attempts: [(id: String, state: PaymentAttempt.State)]
    ) async throws {
        let sheet = try PaymentSheet(request)
        var payment = Payment(
            currency: "USD", total: sheet.total.amount, shippingMethod: "cheap", sheet: sheet.json)
        for (id, state) in attempts {
            _ = payment.begin(attempt: id, shippingMethod: "cheap", at: now)
            if state == .succeeded {
                _ = payment.settle(
                    id, .charged(amount: "63.99", reference: "ch_0", answer: success), at: now)
            }
        }
        payment.send(sessionExpiresAt: now.advanced(by: .seconds(300)))
        let session = try #require(IssuedSession(json: Array(#"{"expiresAt":1}"#.utf8)))
        var payload = PaymentPayload(
            key: "fish", session: session, message: MessageID("m-1"), request: request, payment: payment)
        (payload.key, payload.session) = (nil, nil)
        let json = payload
        _ = try await store.requests.request(of: ReplyID(record: 57, index: 0)) { now in
            var open = OpenRequest(
                .payment, business: business, customer: customer, requestIdentifier: identifier,
                entry: ReplyID(record: 57, index: 0), payload: [], stateLifetime: .seconds(60),
                releaseLifetime: .zero, at: now)
            open.accept(at: now)
            open.set(json)
            return (identifier, open)
        }
    }

    static let success = Array(#"{"status":"STATUS_SUCCESS"}"#.utf8)

    /// The answer to a device whose payment failed for this reason.
    static func failed(_ failure: PaymentFailure) -> PaymentFlow.Answer { .json(failure.answer) }

    /// The body of a gateway call with a token that contains this text.
    static func gateway(
        _ token: String = "token-1", shippingMethod: String? = "cheap", identifier: String = identifier
    ) -> [UInt8] {
        let method = shippingMethod.map { #","shippingMethod":{"identifier":"\#($0)"}"# } ?? ""
        let data = Base64.encode(Array(token.utf8))
        return Array(
            #"{"requestIdentifier":"\#(identifier)","version":1,"payment":{"paymentToken":{"paymentData":{"data":"\#(data)"}}\#(method)}}"#
                .utf8)
    }

    static func update(_ members: String) -> [UInt8] {
        Array(#"{"requestIdentifier":"\#(identifier)","version":"1.0","payment":{\#(members)}}"#.utf8)
    }

    static func attempt(_ token: String = "token-1") -> String {
        PaymentAttempt.id(requestIdentifier: identifier, encryptedData: Array(token.utf8))
    }

    /// Answers a gateway call, and delivers the answer.
    func pay(
        _ token: String = "token-1", shippingMethod: String? = "cheap", delivery: HTTPDelivery = .sent
    ) async -> PaymentFlow.Answer {
        let reply = await flow.answer(
            .paymentGateway, key: "fish", Self.gateway(token, shippingMethod: shippingMethod))
        reply.wasDelivered?(delivery)
        return reply.answer
    }

    func payment() async throws -> Payment {
        try #require(
            try await store.requests.update(Self.identifier, of: Self.business) { request, _ in
                request?.paymentPayload?.payment
            })
    }

    /// Answers an update of the sheet, and delivers the answer.
    func update(
        _ kind: PaymentCallback.Kind, _ members: String, delivery: HTTPDelivery = .sent
    ) async -> PaymentFlow.Answer {
        let reply = await flow.answer(kind, key: "fish", Self.update(members))
        reply.wasDelivered?(delivery)
        return reply.answer
    }

    /// Waits until the attempt has this state.
    func wait(
        for state: PaymentAttempt.State, of token: String = "token-1", turningClockBy step: Duration = .zero
    ) async throws {
        let isReached = try await eventually {
            // A search or a wait that began before the clock was advanced does not see the new time.
            if step > .zero { self.clock.advance(by: step) }
            self.reversals.wake()
            return try await self.payment().attempts.contains {
                $0.id == Self.attempt(token) && $0.state == state
            }
        }
        #expect(isReached, "the attempt is not \(state)")
    }

    func stop() async {
        reversals.stop()
        await running.value
        await store.close()
        for line in log.lines {
            #expect(!line.contains(Self.identifier) && !line.contains("token-") && !line.contains("urn:mbid"))
        }
    }
}
