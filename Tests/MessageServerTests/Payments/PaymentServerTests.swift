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
    ShippingMethodUpdateHandler
{
    let charged = Mutex<[String]>([])
    let results = Mutex<[PaymentResult?]>([])

    var charges: Int { charged.withLock { $0.count } }
    var result: PaymentResult? { results.withLock { $0.first ?? nil } }

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
    private struct Shop {
        let certificates = TemporaryDirectory()
        let service: FakeMerchantSessions
        let server: ServerUnderTest
        let handler = FishMonger()

        init() async throws {
            let service = try FakeMerchantSessions(
                directory: certificates.path, logger: LogCollector().logger)
            try await service.start()
            self.service = service
            server = try await ServerUnderTest(handler) { configuration in
                var applePay = PaymentUnderTest.configuration.applePay
                applePay?.merchant.sessionURL = service.sessionURL ?? ""
                applePay?.merchant.authoritiesFile = service.authoritiesFile
                applePay?.merchant.certificateFile = service.certificateFile
                applePay?.merchant.keyFile = service.keyFile
                configuration.businesses[0].applePay = applePay
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
        ("shop.example", 200), ("SHOP.example:8443", 200), ("other.example", 404), ("127.0.0.1", 404),
    ])
    func `the proof of the domain is served to its host unchanged`(host: String, status: Int) async throws {
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
        await shop.stop()
    }
}
