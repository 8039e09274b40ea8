import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import Payments
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer
@testable import MessageStore

/// Sells fish: asks for a payment after each text, and charges every token.
private final class FishMonger: TextHandler, ApplePayHandler, PaymentGatewayHandler,
    ShippingMethodUpdateHandler, LifecycleHandler
{
    /// The hosts of the businesses that the handler answers for, by slug.
    let hosts = Mutex<[String: HandlerHost]>([:])
    let charged = Mutex<[String]>([])
    let results = Mutex<[PaymentResult?]>([])

    var charges: Int { charged.withLock { $0.count } }
    var result: PaymentResult? { results.withLock { $0.first ?? nil } }

    func provision(_ host: HandlerHost) async throws { hosts.withLock { $0[host.slug] = host } }

    func text(_ text: Text, _ context: Context) async throws -> Outcome {
        .reply(.payment(PaymentUnderTest.request))
    }

    func applePay(_ payment: ApplePay, _ context: Context) async throws -> Outcome {
        results.withLock { $0.append(context.payment) }
        return .handled
    }

    func paymentGateway(_ token: PaymentToken, _ context: PaymentContext) async throws -> PaymentOutcome {
        charged.withLock { $0.append(context.attempt) }
        return .success(charged: context.sheet.total.amount, reference: "ch_9")
    }

    func reversal(_ reversal: PaymentReversal) async throws {}

    func shippingMethodUpdate(
        _ method: PaymentSheet.ShippingMethod, _ context: PaymentContext
    ) async throws -> SheetUpdate { .unchanged }
}

/// A whole server, a simulated service for merchant sessions, and the requests of a device.
@Suite struct PaymentServerTests {
    /// A payment request on a customer's device, with the paths of its endpoints.
    private struct Asked {
        let customer: SimulatedCustomer
        let identifier: String
        let gateway: String
        let fallback: String
        let shipping: String
    }

    private struct Shop {
        let certificates = TemporaryDirectory()
        let service: FakeMerchantSessions
        let server: ServerUnderTest
        let handler = FishMonger()

        init(
            paths: ApplePayConfiguration.Paths = .constant, fallbackURL: String? = nil,
            otherDomain: String? = nil
        ) async throws {
            let service = try FakeMerchantSessions(
                directory: certificates.path, logger: LogCollector().logger)
            try await service.start()
            self.service = service
            server = try await ServerUnderTest.withAPI(handler) { configuration in
                var applePay = PaymentUnderTest.configuration.applePay
                applePay?.paths = paths
                applePay?.fallbackURL = fallbackURL
                applePay?.merchant.sessionURL = service.sessionURL ?? ""
                applePay?.merchant.authoritiesFile = service.authoritiesFile
                applePay?.merchant.certificateFile = service.certificateFile
                applePay?.merchant.keyFile = service.keyFile
                configuration.businesses[0].applePay = applePay
                guard let otherDomain else { return }
                applePay?.merchant.domainName = otherDomain
                applePay?.domainAssociation = Array(otherDomain.utf8)
                var other = BusinessConfiguration(
                    slug: "other", businessID: BusinessID("other"), name: "Other",
                    handler: configuration.businesses[0].handler)
                other.applePay = applePay
                configuration.businesses.append(other)
            }
        }

        func send(
            _ path: String, method: String = "POST", body: [UInt8] = [], host: String? = nil
        ) async throws -> TransportResponse {
            try await server.transport.send(
                TransportRequest(
                    method: method, url: server.url + path, headers: host.map { [("host", $0)] } ?? [],
                    body: body, allowsPlainHTTP: true))
        }

        /// Asks a customer for a payment.
        func ask() async throws -> Asked {
            let customer = server.customer()
            #expect(try await customer.post(customer.message(.text, text: "Halibut, please")).status == 200)
            let message = try #require(await server.gateway.waitForMessages(customer: customer.id).first)
            let data = try #require(message.message.root["interactiveData"]?["data"])
            let endpoints = try #require(data["payment"]?["endpoints"])
            func path(_ name: String) throws -> String {
                String(try #require(endpoints[name]?.string).dropFirst(server.url.utf8.count))
            }
            return Asked(
                customer: customer, identifier: try #require(data["requestIdentifier"]?.string),
                gateway: try path("paymentGatewayUrl"), fallback: try path("fallbackUrl"),
                shipping: try path("shippingMethodUpdateUrl"))
        }

        /// Apple's event with the result of a payment.
        func post(_ state: String, of asked: Asked) async throws {
            let event =
                #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"\#(asked.identifier)","payment":{"state":"\#(state)"}}}}"#
            let answer = try await asked.customer.post(
                asked.customer.message(completing: Array(event.utf8)))
            #expect(answer.status == 200)
        }

        func stop() async {
            await server.stop(secrets: ["token-1"])
            await service.stop()
        }
    }

    @Test func `a payment is asked for, charged, told to the handler, and leaves no secret`() async throws {
        let shop = try await Shop()
        let customer = shop.server.customer()
        #expect(try await customer.post(customer.message(.text, text: "Halibut, please")).status == 200)
        let message = try #require(
            await shop.server.gateway.waitForMessages(customer: customer.id).first)
        let data = try #require(message.message.root["interactiveData"]?["data"])
        let gateway = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
        let identifier = try #require(data["requestIdentifier"]?.string)
        let session = try #require(data["payment"]?["merchantSession"]?["merchantSessionIdentifier"]?.string)
        #expect(gateway.hasPrefix(shop.server.url + "/pay/"))
        #expect(shop.service.contexts == [gateway])
        let path = String(gateway.dropFirst(shop.server.url.utf8.count))
        let answer = try await shop.send(path, body: PaymentUnderTest.gateway(identifier: identifier))
        #expect(answer.status == 200 && answer.body == PaymentUnderTest.success)
        #expect(answer.header("cache-control") == "no-store")
        #expect(shop.handler.charges == 1)
        let event =
            #"{"type":"interactive","interactiveData":{"data":{"requestIdentifier":"\#(identifier)","payment":{"state":"paid"}}}}"#
        let posted = try await customer.post(customer.message(completing: Array(event.utf8)))
        #expect(posted.status == 200)
        #expect(await eventually { shop.handler.result != nil })
        let result = try #require(shop.handler.result)
        #expect(result.state == .paid && result.agrees && result.reference == "ch_9")
        let handled = await shop.server.stages.first { $0.stage == .handle && $0.kind == .applePay }
        #expect(handled?.payment == "paid")
        await shop.stop()
        // The encrypted data, the session and the token of the request are nowhere on disk.
        let token = "dG9rZW4tMQ=="
        for (path, text) in try Self.files(shop.server.configuration.dataDirectory) {
            for secret in [token, "token-1", session] {
                #expect(!text.contains(secret), "\(path) has \(secret)")
            }
        }
    }

    /// Every file below a folder, as text.
    private static func files(_ folder: String) throws -> [(String, String)] {
        try Directory.names(in: folder).flatMap { name -> [(String, String)] in
            let path = folder + "/" + name
            if Directory.isDirectory(path) { return try files(path) }
            // A socket or a lock has no content to search.
            guard let bytes = try? File(path, for: .reading).readAll() else { return [] }
            return [(path, String(decoding: bytes, as: UTF8.self))]
        }
    }

    @Test func `an endpoint refuses other methods, unknown requests, large and malformed bodies`()
        async throws
    {
        let shop = try await Shop()
        let slug = shop.server.configuration.businesses[0].slug
        for kind in PaymentCallback.Kind.allCases {
            let path = "/pay/\(slug)/\(kind.rawValue)"
            #expect(try await shop.send(path, method: "GET").status == 405)
            #expect(try await shop.send(path, method: "PUT").status == 405)
            #expect(try await shop.send(path, body: Array("{".utf8)).status == 400)
            #expect(try await shop.send(path, body: [UInt8](repeating: 0x20, count: 1 << 20)).status == 413)
        }
        let unknown = try await shop.send("/pay/\(slug)/paymentGateway", body: PaymentUnderTest.gateway())
        #expect(unknown.status == 404 && unknown.header("cache-control") == "no-store")
        let token = String(repeating: "A", count: 43)
        #expect(
            try await shop.send("/pay/\(token)/paymentGateway", body: PaymentUnderTest.gateway()).status
                == 404)
        #expect(
            try await shop.send("/pay/\(slug)/paymentgateway", body: PaymentUnderTest.gateway()).status == 404
        )
        #expect(try await shop.send("/pay/\(slug)/fallback?request=x", method: "GET").status == 404)
        #expect(shop.handler.charges == 0)
        #expect(!shop.server.log.lines.contains { $0.contains(token) })
        await shop.stop()
    }

    @Test(arguments: [
        ("shop.example", 200), ("SHOP.example:8443", 200), ("balloon_upstream", 200), ("127.0.0.1", 200),
    ])
    func `the only proof of a domain is served unchanged, also behind a proxy that changes Host`(
        host: String, status: Int
    ) async throws {
        let shop = try await Shop()
        for ending in ["", ".txt"] {
            let answer = try await shop.send(
                "/.well-known/apple-developer-merchantid-domain-association" + ending, method: "GET",
                host: host)
            #expect(answer.status == status)
            if status == 200 { #expect(answer.body == Array("proof".utf8)) }
        }
        await shop.stop()
    }

    @Test func `of several proofs each is served to its host only, and another host is told the reason`()
        async throws
    {
        let shop = try await Shop(otherDomain: "other.example")
        let path = "/.well-known/apple-developer-merchantid-domain-association"
        for (host, proof) in [
            ("shop.example", "proof"), ("other.example", "other.example"), ("127.0.0.1", nil),
        ] {
            let answer = try await shop.send(path, method: "GET", host: host)
            #expect(answer.status == (proof == nil ? 404 : 200))
            let body = String(decoding: answer.body, as: UTF8.self)
            if let proof {
                #expect(body == proof)
            } else {
                #expect(body.contains("Host") && body.contains("domainName"))
            }
        }
        #expect(shop.server.log.lines.contains { $0.contains("domainName") && $0.contains("Host") })
        await shop.stop()
    }

    @Test func `the fallback page names the business and tells that nothing was charged`() async throws {
        let shop = try await Shop()
        let customer = shop.server.customer()
        #expect(try await customer.post(customer.message(.text, text: "Halibut, please")).status == 200)
        let message = try #require(
            await shop.server.gateway.waitForMessages(customer: customer.id).first)
        let data = try #require(message.message.root["interactiveData"]?["data"])
        let url = try #require(data["payment"]?["endpoints"]?["fallbackUrl"]?.string)
        let path = String(url.dropFirst(shop.server.url.utf8.count))
        for method in ["GET", "POST"] {
            let page = try await shop.send(path, method: method)
            #expect(page.status == 200 && page.header("cache-control") == "no-store")
            #expect(String(decoding: page.body, as: UTF8.self).contains("Nothing was charged"))
        }
        let identifier = try #require(data["requestIdentifier"]?.string)
        let gateway = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
        let paid = try await shop.send(
            String(gateway.dropFirst(shop.server.url.utf8.count)),
            body: PaymentUnderTest.gateway(identifier: identifier))
        #expect(paid.body == PaymentUnderTest.success)
        let page = String(decoding: try await shop.send(path, method: "GET").body, as: UTF8.self)
        #expect(page.contains("already paid") && !page.contains("Nothing was charged"))
        await shop.stop()
        // People read conversations and the records of payments; only a callback needs the whole identifier. The
        // conversation has the request as the handler decided it, before the identifier was drawn.
        let folder = shop.server.configuration.dataDirectory
        let records = try Self.files(folder + "/payments")
        #expect(records.contains { $0.1.contains(identifier.prefix(8)) })
        for (path, text) in try Self.files(folder + "/conversations") + records {
            #expect(!text.contains(identifier), "\(path)")
        }
    }

    @Test(arguments: [false, true])
    func
        `a request that is paid on the fallback page is withdrawn by its handler or over the API, and its sheet fails`(
            overAPI: Bool
        ) async throws
    {
        let shop = try await Shop(fallbackURL: "https://shop.example/other?lang=en")
        let asked = try await shop.ask()
        for method in ["GET", "POST"] {
            let page = try await shop.send(asked.fallback, method: method)
            #expect(page.status == 302 && page.header("cache-control") == "no-store")
            #expect(
                page.header("location")
                    == "https://shop.example/other?lang=en&request=\(asked.identifier)")
        }
        let slug = shop.server.configuration.businesses[0].slug
        let path = "/v1/businesses/\(slug)/payments/withdraw"
        func withdraw() async throws -> Bool? {
            guard overAPI else {
                let host = try #require(shop.handler.hosts.withLock { $0[slug] })
                return try await host.withdrawPayment(asked.identifier)
            }
            let body = #"{"requestIdentifier":"\#(asked.identifier)"}"#
            let answer = try await shop.server.api(path, TestTokens.sender, method: "POST", body: body)
            #expect(answer.status == 200)
            return try answer.json["withdrawn"]?.bool
        }
        #expect(try await withdraw() == true)
        #expect(try await withdraw() == false)
        let answer = try await shop.send(
            asked.gateway, body: PaymentUnderTest.gateway(identifier: asked.identifier))
        #expect(answer.status == 200 && answer.body == PaymentFailure.ended.answer)
        let update = try await shop.send(
            asked.shipping,
            body: Array(
                #"{"requestIdentifier":"\#(asked.identifier)","version":1,"payment":{"shippingMethod":{"identifier":"dear"}}}"#
                    .utf8))
        #expect(update.body == PaymentFlow.updateFailure)
        #expect(shop.handler.charges == 0)
        if overAPI {
            for body in ["{}", #"{"requestIdentifier":1}"#] {
                let refused = try await shop.server.api(path, TestTokens.sender, method: "POST", body: body)
                #expect(refused.problem == "bad-member")
            }
            let reader = try await shop.server.api(
                path, TestTokens.reader, method: "POST", body: #"{"requestIdentifier":"x"}"#)
            #expect(reader.problem == "right-missing")
        }
        await shop.stop()
    }

    @Test func `with a path for each request, only its own path and identifier together find it`()
        async throws
    {
        let shop = try await Shop(paths: .perRequest)
        let (first, second) = (try await shop.ask(), try await shop.ask())
        #expect(first.gateway != second.gateway && !first.gateway.contains(first.identifier))
        #expect(
            try await shop.send(
                second.gateway, body: PaymentUnderTest.gateway(identifier: first.identifier)
            ).status == 404)
        #expect(shop.handler.charges == 0)
        let page = try await shop.send(first.fallback, method: "GET")
        #expect(page.status == 200)
        let answer = try await shop.send(
            first.gateway, body: PaymentUnderTest.gateway(identifier: first.identifier))
        #expect(answer.body == PaymentUnderTest.success)
        let token = try #require(first.gateway.split(separator: "/").dropFirst().first)
        #expect(token.utf8.count == 43)
        await shop.stop()
        for (path, text) in try Self.files(shop.server.configuration.dataDirectory) {
            #expect(!text.contains(token), "\(path) has the token")
        }
        #expect(!shop.server.log.lines.contains { $0.contains(token) })
    }

    @Test func `a payment that is asked for over the API gets its parts and is charged by the handler`()
        async throws
    {
        let shop = try await Shop()
        let customer = try await shop.ask().customer
        let slug = shop.server.configuration.businesses[0].slug
        let path = "/v1/businesses/\(slug)/conversations/" + ConversationFiles.name(of: customer.id)
        #expect(try await eventually { try await shop.server.api(path).json["lines"]?.int == 2 })
        let answer = try await shop.server.api(
            path + "/messages", TestTokens.sender, method: "POST",
            body: #"{"message":\#(String(decoding: PaymentUnderTest.request.json, as: UTF8.self))}"#,
            headers: [("Idempotency-Key", "key-1"), ("Prefer", "wait=50")])
        #expect(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
        try #require(answer.status == 201)
        let messages = await shop.server.gateway.waitForMessages(count: 2, customer: customer.id)
        let message = try #require(messages.last)
        let data = try #require(message.message.root["interactiveData"]?["data"])
        #expect(data["payment"]?["merchantSession"]?["merchantSessionIdentifier"]?.string != nil)
        let identifier = try #require(data["requestIdentifier"]?.string)
        let url = try #require(data["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string)
        let paid = try await shop.send(
            String(url.dropFirst(shop.server.url.utf8.count)),
            body: PaymentUnderTest.gateway(identifier: identifier))
        #expect(paid.body == PaymentUnderTest.success && shop.handler.charges == 1)
        await shop.stop()
    }

    @Test func `a person sees the result of a payment in the conversation's line of Apple's event`()
        async throws
    {
        let shop = try await Shop()
        let asked = try await shop.ask()
        let slug = shop.server.configuration.businesses[0].slug
        let path =
            "/v1/businesses/\(slug)/conversations/" + ConversationFiles.name(of: asked.customer.id)
        #expect(try await eventually { try await shop.server.api(path).json["lines"]?.int == 2 })
        let claim = try await shop.server.api(
            path + "/claim", TestTokens.sender, method: "POST", body: #"{"person":{"id":"ana"}}"#)
        #expect(claim.status == 200)
        // The handler charges, although a person has the conversation.
        let answer = try await shop.send(
            asked.gateway, body: PaymentUnderTest.gateway(identifier: asked.identifier))
        #expect(answer.body == PaymentUnderTest.success && shop.handler.charges == 1)
        try await shop.post("paid", of: asked)
        #expect(
            try await eventually {
                let lines = try await shop.server.api(path + "/messages").json["lines"]
                let payment = lines?.elements.compactMap { $0["payment"] }.first
                return payment?["state"]?.string == "paid" && payment?["amount"]?.string == "63.99"
                    && payment?["currency"]?.string == "USD" && payment?["reference"]?.string == "ch_9"
            })
        #expect(shop.handler.result == nil)
        await shop.stop()
    }
}
