import BalloonJSON
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import HandlerKit
import Payments
import SignIn
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// Events and callbacks that name the open request of another kind, version, business or customer.
struct RequestClaimTests {
    private static let business = BusinessID("b")
    private static let customer = CustomerID("urn:mbid:c")
    private static let identifier = "r-1"

    /// A store with one request, and both readers of Apple's events.
    private struct Fixture {
        let temporary: TemporaryStore
        let store: Store
        let signIns: SignInReleases
        let flow: SignInFlow
        let payments: PaymentResults

        init(_ kind: OpenRequest.Kind, in temporary: TemporaryStore = TemporaryStore()) async throws {
            self.temporary = temporary
            store = try temporary.open()
            var provider = Provider(
                issuer: nil, clientID: "c", clientAuthentication: .none, scope: ["profile"])
            provider.tokenURL = "https://p.example/token"
            provider.userinfoURL = "https://p.example/userinfo"
            provider.classic = ClassicClient(
                clientID: "classic", clientSecret: try Secret(Array("s".utf8)), introspectionURL: nil)
            let businesses = ["b", "other"].map { id in
                var business = BusinessConfiguration(
                    slug: id, businessID: BusinessID(id), name: id,
                    handler: .builtin(name: "none", configuration: nil))
                business.authentication = AuthenticationConfiguration(provider: provider)
                business.applePay = PaymentUnderTest.configuration.applePay
                return business
            }
            let logger = LogCollector().logger
            let settings = SignInSettings(businesses, publicURL: "https://shop.example")
            signIns = SignInReleases(
                requests: store.requests, settings: settings, client: try SignInClient(), logger: logger)
            flow = SignInFlow(
                requests: store.requests, settings: settings, client: try SignInClient(), logger: logger)
            let paymentSettings = PaymentSettings(businesses, publicURL: "https://shop.example")
            let records = PaymentRecords(
                dataDirectory: temporary.directory.file("data"), logger: logger)
            payments = PaymentResults(
                requests: store.requests, settings: paymentSettings,
                reversals: PaymentReversals(
                    requests: store.requests, settings: paymentSettings, handlers: ScriptedPayments(),
                    records: records, logger: logger))
            _ = try await store.requests.request(of: ReplyID(record: 57, index: 0)) { now in
                var request = OpenRequest(
                    kind, business: RequestClaimTests.business, customer: RequestClaimTests.customer,
                    requestIdentifier: RequestClaimTests.identifier, entry: ReplyID(record: 57, index: 0),
                    payload: [], stateLifetime: .seconds(600), releaseLifetime: .seconds(120), at: now)
                request.accept(at: now)
                switch kind {
                case .payment:
                    if let payload = Self.payload(at: now) { request.set(payload) }
                case .signIn:
                    let attempt = SignInAttempt(
                        state: "s", verifier: "v", nonce: nil, redirectURI: "https://a.example", scope: ["a"])
                    request.set(
                        payload: SignInPayload(attempt, additionalParameters: nil).json, deadline: nil,
                        isBusy: false)
                case .classicSignIn:
                    if let pair = try? P384KeyPair() {
                        request.set(
                            payload: ClassicSignInPayload(pair, scope: ["a"]).json, deadline: nil,
                            isBusy: false)
                    }
                }
                return (RequestClaimTests.identifier, request)
            }
        }

        /// A payment with an attempt whose result is open.
        private static func payload(at now: Timestamp) -> PaymentPayload? {
            guard let sheet = try? PaymentSheet(PaymentUnderTest.request),
                let session = IssuedSession(json: Array(#"{"expiresAt":1}"#.utf8))
            else { return nil }
            var payment = Payment(
                currency: "USD", total: sheet.total.amount, shippingMethod: "cheap", sheet: sheet.json)
            _ = payment.begin(attempt: "ab12", shippingMethod: "cheap", at: now)
            payment.send(sessionExpiresAt: now.advanced(by: .seconds(300)))
            return PaymentPayload(
                key: "b", session: session, message: MessageID("m"), request: PaymentUnderTest.request,
                payment: payment)
        }

        func file() throws -> OpenRequest? {
            try store.requests.find(RequestName(of: RequestClaimTests.identifier))
        }

        func event(
            _ data: String, business: String = "b", customer: String = "urn:mbid:c", id: String = "m-2"
        ) throws -> InboundEvent {
            let message =
                #"{"type":"interactive","interactiveData":{"data":{"version":"2.0","#
                + #""requestIdentifier":"r-1",\#(data)}}}"#
            return InboundEvent.decode(
                message: try JSONDocument(Array(message.utf8)), id: MessageID(id),
                business: BusinessID(business), customer: CustomerID(customer))
        }

        /// The server's reading of an event, of both kinds.
        func meaning(_ event: InboundEvent) async throws -> String {
            if let payment = try await payments.result(of: event) { return payment.state.rawValue }
            defer { withExtendedLifetime(temporary) {} }
            switch try await signIns.meaning(of: event) {
            case .none: return "none"
            case .repetition: return "repetition"
            case .result(let result): return result.name
            }
        }
    }

    private static let success = #""authenticate":{"status":"success"}"#
    private static let failure = #""authenticate":{"status":"failure","error_code":"400"}"#
    private static let token = #""authenticate":{"status":"authenticated","token":"AAAA"}"#
    private static let failed = #""authenticate":{"status":"failed","errors":[{"code":1}]}"#
    private static let paid = #""payment":{"state":"paid"}"#

    @Test(arguments: [
        // An event of the other kind.
        (OpenRequest.Kind.payment, success, "b", "urn:mbid:c", "unproven"),
        (.payment, failure, "b", "urn:mbid:c", "unproven"), (.payment, token, "b", "urn:mbid:c", "unproven"),
        (.payment, failed, "b", "urn:mbid:c", "unproven"), (.signIn, paid, "b", "urn:mbid:c", "none"),
        (.classicSignIn, paid, "b", "urn:mbid:c", "none"),
        // An event of the other version.
        (.signIn, token, "b", "urn:mbid:c", "unproven"), (.signIn, failed, "b", "urn:mbid:c", "unproven"),
        (.classicSignIn, success, "b", "urn:mbid:c", "unproven"),
        (.classicSignIn, failure, "b", "urn:mbid:c", "unproven"),
        // An event of another business or customer.
        (.payment, paid, "other", "urn:mbid:c", "none"), (.payment, paid, "b", "urn:mbid:d", "none"),
        (.signIn, success, "other", "urn:mbid:c", "expired"),
        (.signIn, success, "b", "urn:mbid:d", "unproven"),
        (.classicSignIn, token, "other", "urn:mbid:c", "expired"),
        (.classicSignIn, token, "b", "urn:mbid:d", "unproven"),
    ])
    func `an event that names a request of another kind, version, business or customer changes nothing`(
        kind: OpenRequest.Kind, event: String, business: String, customer: String, meaning: String
    ) async throws {
        let fixture = try await Fixture(kind)
        let before = try fixture.file()
        #expect(before?.payload?.isEmpty == false)
        #expect(
            try await fixture.meaning(
                try fixture.event(event, business: business, customer: customer)) == meaning)
        #expect(try fixture.file() == before)
        await fixture.store.close()
    }

    @Test(arguments: [OpenRequest.Kind.payment, .signIn, .classicSignIn])
    func `a callback with the state of another kind or business changes nothing`(
        kind: OpenRequest.Kind
    ) async throws {
        let fixture = try await Fixture(kind)
        let before = try fixture.file()
        let slugs = kind == .signIn ? ["other"] : ["b", "other"]
        let value = RequestName(of: Self.identifier).digits + ".x"
        for slug in slugs {
            #expect(
                await fixture.flow.callback(Array("code=c&state=r-1".utf8), slug: slug) == .failure(code: 400)
            )
            #expect(
                await fixture.flow.confirm(Array("value=\(value)".utf8)[...], slug: slug)
                    == .failure(code: 400))
        }
        #expect(try fixture.file() == before)
        await fixture.store.close()
    }

    @Test(arguments: [
        (OpenRequest.Kind.signIn, failure, success), (.signIn, success, failure),
        (.classicSignIn, failed, token),
    ])
    func `a second event of a sign-in repeats the first one, also after a restart, and a replay has expired`(
        kind: OpenRequest.Kind, first: String, second: String
    ) async throws {
        let temporary = TemporaryStore()
        var fixture = try await Fixture(kind, in: temporary)
        let event = try fixture.event(first, id: "m-1")
        let meaning = try await fixture.meaning(event)
        #expect(meaning != "expired" && meaning != "repetition")
        #expect(try await fixture.meaning(event) == meaning)
        #expect(try await fixture.meaning(try fixture.event(second)) == "repetition")
        await fixture.signIns.end(event)
        for _ in 1...2 {
            #expect(try await fixture.meaning(try fixture.event(second)) == "repetition")
            #expect(try await fixture.meaning(event) == "expired")
            let kept = try fixture.file()
            #expect(kept?.payload == nil && kept?.result == nil)
            await fixture.store.close()
            fixture = try await Fixture(kind, in: temporary)
        }
        await fixture.store.close()
    }

    @Test func `two customers whose requests have one identifier each get their own result`() async throws {
        let fixture = try await Fixture(.signIn)
        _ = try await fixture.store.requests.request(of: ReplyID(record: 58, index: 0)) { now in
            (
                "s-2",
                OpenRequest(
                    .signIn, business: Self.business, customer: CustomerID("urn:mbid:d"),
                    requestIdentifier: Self.identifier, entry: ReplyID(record: 58, index: 0),
                    payload: Array("{}".utf8), stateLifetime: .seconds(600),
                    releaseLifetime: .seconds(120), at: now)
            )
        }
        #expect(try await fixture.meaning(try fixture.event(Self.failure)) == "failed")
        #expect(try fixture.file()?.phase == .released)
        #expect(try fixture.store.requests.find(RequestName(of: "s-2"))?.phase == .waiting)
        await fixture.store.close()
    }
}
