import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BalloonWire
import BusinessMessages
import Logging
import Simulator
import Synchronization
import Testing

/// A business's endpoints: they record what a device posts, and charge the sum of the shipping method.
private final class Shop: Sendable {
    let calls = Mutex<[(name: String, body: JSONDocument)]>([])
    private let answers: [String: String]

    init(_ answers: [String: String] = [:]) { self.answers = answers }

    var names: [String] { calls.withLock { $0.map { $0.name } } }

    func body(_ name: String) -> JSONValue? {
        calls.withLock { $0.first { $0.name == name } }?.body.root["payment"]
    }

    func start() async throws -> (server: HTTPServer, origin: String) {
        let routes = PaymentCallback.Kind.allCases.map { kind in
            HTTPRoute(.post, "/\(kind.rawValue)", body: .collected(maximumBytes: 1 << 20)) {
                [self] request, _ in
                guard let body = try? JSONDocument(Array(request.body)),
                    (try? PaymentCallback(kind, body.root)) != nil
                else { return HTTPResponse(.badRequest, text: "") }
                calls.withLock { $0.append((kind.rawValue, body)) }
                return HTTPResponse(.ok, json: Array(answer(kind, body.root).utf8))
            }
        }
        let server = try HTTPServer(
            listeners: [HTTPListener(.tcp(host: "127.0.0.1", port: 0), routes: routes)], shards: 1,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return (server, "http://\(try await server.start()[0])")
    }

    private func answer(_ kind: PaymentCallback.Kind, _ body: JSONValue) -> String {
        if let answer = answers[kind.rawValue] { return answer }
        let card = body["payment"]?["paymentToken"]?["paymentMethod"]?["displayName"]?.string
        switch kind {
        case .paymentGateway:
            return
                #"{"status":"\#(card == DevicePayment.declinedCard ? "STATUS_FAILURE" : "STATUS_SUCCESS")"}"#
        case .shippingMethodUpdate:
            return
                #"{"newTotal":{"label":"Fish","amount":"88.99"},"newLineItems":[{"label":"Halibut","amount":"59.00"},{"label":"Air","amount":"29.99"}]}"#
        default: return "{}"
        }
    }
}

@Suite struct DevicePaymentTests {
    private func message(_ origin: String, without: Set<String> = []) throws -> JSONDocument {
        let endpoints = PaymentCallback.Kind.allCases.map(\.rawValue).filter { !without.contains($0) }
            .map { #""\#($0)Url":"\#(origin)/\#($0)""# }.joined(separator: ",")
        return try JSONDocument(
            Array(
                """
                {"id":"m1","type":"interactive","sourceId":"b","destinationId":"urn:mbid:c","interactiveData":{
                "receivedMessage":{"title":"Halibut","style":"large"},"data":{"version":"1.0","requestIdentifier":"r1",
                "payment":{"endpoints":{\(endpoints)},"merchantSession":{"initiativeContext":"\(origin)/paymentGateway"},
                "paymentRequest":{"applePay":{"merchantIdentifier":"merchant.com.fish","merchantCapabilities":["supports3DS"],
                "supportedNetworks":["visa"]},"countryCode":"US","currencyCode":"USD",
                "lineItems":[{"label":"Halibut","amount":"59.00"},{"label":"Ground","amount":"4.99"}],
                "shippingMethods":[{"identifier":"ground","label":"Ground","detail":"5 days","amount":"4.99"},
                {"identifier":"air","label":"Air","detail":"1 day","amount":"29.99"}],
                "total":{"label":"Fish","amount":"63.99","type":"final"}}}}}}
                """.utf8))
    }

    private func pay(
        at shop: Shop, without: Set<String> = [], merchantKey: [UInt8]? = nil,
        _ change: (inout DevicePayment.Choice) -> Void = { _ in }
    ) async throws -> (outcome: DevicePayment.Outcome, issuer: PaymentTokenIssuer) {
        let (server, origin) = try await shop.start()
        let now = SystemClock.secondsSince1970()
        let issuer = try PaymentTokenIssuer(at: now)
        var choice = DevicePayment.Choice()
        change(&choice)
        let device = try DevicePayment(
            to: try message(origin, without: without), issuer: issuer, at: now)
        let outcome = try await device.run(choice, merchantKey: merchantKey, over: CurlTransport())
        await server.stop(within: .zero)
        return (outcome, issuer)
    }

    @Test func `a device changes card, address and delivery, pays the new sum and reports the order`()
        async throws
    {
        let shop = Shop()
        let merchant = try PaymentTokenKey(
            pem: try IssuedCertificate(
                .init(name: "Merchant", key: .p256, isAuthority: false, validity: 0...4_000_000_000)
            ).keyPEM, merchantIdentifier: "merchant.com.fish")
        let (outcome, issuer) = try await pay(at: shop, merchantKey: merchant.publicKey) {
            $0.changesCard = true
            $0.otherCountry = "DE"
            $0.shippingMethod = "air"
        }
        #expect(outcome.state == .paid)
        #expect(outcome.status == "STATUS_SUCCESS")
        #expect(outcome.total == "88.99")
        #expect(outcome.errors == [])
        #expect(
            shop.names == [
                "paymentMethodUpdate", "shippingContactUpdate", "shippingMethodUpdate", "paymentGateway",
                "orderTracking",
            ])
        let contact = shop.body("shippingContactUpdate")?["shippingContact"]
        #expect(contact?["countryCode"]?.string == "de" && contact?["familyName"] == nil)
        let paid = try #require(shop.body("paymentGateway"))
        #expect(paid["shippingMethod"]?["identifier"]?.string == "air")
        #expect(paid["shippingContact"]?["familyName"]?.string == "Appleseed")
        let token = try EncryptedPaymentToken(try #require(paid["paymentToken"]?["paymentData"])).open(
            with: [merchant], root: try RootCertificate(issuer.root), now: SystemClock.secondsSince1970())
        #expect(token.amountMinorUnits == 8899)
        #expect(token.currencyNumber == "840")
        #expect(shop.body("orderTracking")?["summaryItems"]?.count == 3)
    }

    @Test func `a device reports a declined card and a closed sheet`() async throws {
        let declining = Shop()
        let declined = try await pay(at: declining) { $0.declines = true }.outcome
        #expect(declined.state == .declined && declined.status == "STATUS_FAILURE")
        #expect(declining.names == ["paymentGateway"])
        let closing = Shop()
        let closed = try await pay(at: closing) { $0.cancels = true }.outcome
        #expect(closed.state == .paymentNotCompleted && closed.status == nil)
        #expect(closing.names == [])
    }

    @Test(arguments: [
        (#"{"newTotal":{"label":"Fish","amount":"1,00"}}"#, ["newTotal.amount"]),
        (#"{"errors":[{"code":"addressUnserviceable","message":"no"}]}"#, ["addressUnserviceable"]),
        ("nothing", ["an answer is no JSON"]), (#"{"newLineItems":[]}"#, ["newLineItems"]),
    ])
    func `a device does not pay after an answer that breaks a rule or has an error`(
        answer: String, errors: [String]
    ) async throws {
        let shop = Shop(["shippingMethodUpdate": answer])
        let outcome = try await pay(at: shop) { $0.shippingMethod = "air" }.outcome
        #expect(outcome.state == .paymentNotCompleted)
        #expect(outcome.errors == errors)
        #expect(shop.names == ["shippingMethodUpdate"])
    }

    @Test func `a device misbehaves on request`() async throws {
        let twice = Shop()
        let outcome = try await pay(at: twice) { $0.fault = .twice }.outcome
        #expect(twice.names == ["paymentGateway", "paymentGateway", "orderTracking"])
        let bodies = twice.calls.withLock { $0.prefix(2).map { $0.body.bytes } }
        #expect(bodies[0] == bodies[1] && outcome.state == .paid)
        let other = Shop()
        _ = try await pay(at: other) { $0.fault = .otherShippingMethod }
        #expect(other.body("paymentGateway")?["shippingMethod"]?["identifier"]?.string == "air")
        let foreign = Shop()
        _ = try await pay(at: foreign) { $0.fault = .otherRequest }
        #expect(foreign.calls.withLock { $0.first?.body.root["requestIdentifier"]?.string } != "r1")
    }

    @Test func `a device calls no endpoint that the message does not list, and selects no unknown method`()
        async throws
    {
        let shop = Shop()
        let outcome = try await pay(at: shop, without: ["shippingMethodUpdate", "orderTracking"]) {
            $0.shippingMethod = "air"
        }.outcome
        #expect(outcome.state == .paid && outcome.total == "63.99")
        #expect(shop.names == ["paymentGateway"])
        let unknown = try await pay(at: Shop()) { $0.shippingMethod = "boat" }.outcome
        #expect(unknown.state == .paymentNotCompleted)
        #expect(unknown.errors.count == 1)
    }

    @Test func `the event of a payment has its state beside what the business sent`() throws {
        let message = try message("https://shop.example.com")
        let event = try JSONDocument(DeviceAnswer(to: DeviceOffer(message), reporting: .declined).json)
        let data = try #require(event.root["interactiveData"]?["data"])
        #expect(data["requestIdentifier"]?.string == "r1")
        #expect(data["payment"]?["state"]?.string == "declined")
        #expect(data["payment"]?["merchantSession"]?["initiativeContext"] != nil)
        #expect(data["payment"]?["endpoints"]?.count == 5)
        guard case .applePay(let read) = InboundEvent.decode(message: event).content else {
            Issue.record("the event is no payment")
            return
        }
        #expect(read.state == .declined)
    }
}
