import BalloonPOSIX
import TestSupport
import Testing

@testable import balloon

/// Payments on this machine alone: a handler of each binding, `balloon simulate applePay` as the customer, and a person who
/// asks with `balloon send`.
@Suite struct PaymentDevTests {
    /// The binding of a business's handler, and a process that it needs.
    private enum Binding: String, CaseIterable {
        case builtin, swift, python, http
    }

    private static let payments = #"["paymentGateway","shippingMethodUpdate","shippingContactUpdate"]"#

    private func start(
        _ binding: Binding, in directory: TemporaryDirectory
    ) async throws -> (server: ServingCommand, service: RunningCommand?) {
        let shop = Fixture.sampleHandlers + "/python/shop.py"
        var (handler, service): (String, RunningCommand?) = (#"{"builtin":"demo"}"#, nil)
        switch binding {
        case .builtin: break
        case .swift: handler = #"{"exec":["\#(buildDirectory)/ShopExample"]}"#
        case .python: handler = #"{"exec":["\#(shop)"]}"#
        case .http:
            let process = try Shell(directory: directory.path).start(
                "HANDLER_SECRET=\(Self.secret) exec python3 \(shop) --http 127.0.0.1:0 2>&1")
            let line = try #require(await process.output(until: "listens on ")).split(separator: "\n").last
            let url = try #require(line?.split(separator: " ").last)
            service = process
            handler = #"{"http":{"url":"\#(url)","secret":{"file":"hook"},"payments":\#(Self.payments)}}"#
        }
        let files = [
            "server.json": #"{"mspID":"m","secret":{"env":"S"},"listen":"127.0.0.1:0"}"#,
            "businesses/hook": Self.secret,
            "businesses/shop.json":
                #"{"businessID":"5a6b7c8d-0000-4000-8000-000000000002","name":"Shop","handler":\#(handler)}"#,
        ]
        for (name, text) in files {
            let path = directory.file("config/" + name)
            try Directory.make(Directory.parent(of: path))
            try AtomicFile.write(Array(text.utf8), to: path)
        }
        return (try await ServingCommand.dev("--config config/server.json", in: directory), service)
    }

    private static let request = #"""
        {"payment":{"paymentRequest":{"applePay":{"merchantCapabilities":["supports3DS"],"supportedNetworks":["visa"]},
        "countryCode":"DE","currencyCode":"EUR","total":{"label":"Shop","amount":"59.00","type":"final"},
        "lineItems":[{"label":"Repair","amount":"59.00","type":"final"}]},"receivedMessage":{"title":"Repair","style":"large"}}}
        """#
    private static let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0"

    @Test(arguments: Binding.allCases)
    private func
        `a customer pays with another delivery and address, is declined, closes the sheet, and cannot pay`(
            binding: Binding
        ) async throws
    {
        let directory = TemporaryDirectory()
        let (server, service) = try await start(binding, in: directory)
        let shell = server.shell
        func run(_ command: String) async throws -> String {
            let result = try await shell.run("balloon \(command)")
            #expect(result.status == 0, "\(command): \(result.output) \(result.errors)")
            return result.output
        }
        let isDemo = binding == .builtin
        let delivery = isDemo ? "express" : "post"
        let sum = isDemo ? "64.00 EUR" : "10.00 EUR"
        _ = try await run("simulate text --text pay --wait")
        let paid = try await run("simulate applePay --shipping-method \(delivery) --change-address --wait")
        #expect(paid.contains(isDemo ? "The payment of \(sum) ended: paid." : "You paid \(sum)."), "\(paid)")
        _ = try await run("simulate text --text pay --wait")
        let declined = try await run("simulate applePay --decline --wait")
        #expect(
            declined.contains(isDemo ? "ended: declined" : "Nothing was charged"), "\(declined)")
        _ = try await run("simulate text --text pay --wait")
        let cancelled = try await run("simulate applePay --cancel --wait")
        #expect(
            cancelled.contains(isDemo ? "ended: unpaid" : "Nothing was charged"), "\(cancelled)")
        _ = try await run("simulate text --text pay --wait")
        let page = try await shell.run("balloon simulate applePay --fallback --wait")
        #expect(page.errors.contains("payment: unavailable") && page.errors.contains("fallback page 200"))
        #expect(page.output.contains(isDemo ? "ended: unpaid" : "Nothing was charged"), "\(page.output)")
        // A person asks, and the handler charges.
        try AtomicFile.write(Array(Self.request.utf8), to: directory.file("payment.json"))
        _ = try await run("simulate text --text agent --customer ann")
        _ = try await run("send --business shop --to ann --message payment.json --person ana")
        let asked = try await run("simulate applePay --customer ann")
        #expect(asked.contains("paid"), "\(asked)")
        #expect(try await run("payments list").contains("59.00 EUR"))
        _ = try await run("export ann --customer ann")
        let exported = try File(directory.file("ann/payments.ndjson"), for: .reading).readAll()
        #expect(String(decoding: exported, as: UTF8.self).contains(#""amount":"59.00""#))
        let attempts = try await run("payments list").split(separator: "\n")
        #expect(attempts.count { $0.contains("succeeded") && $0.contains(sum) } == 1, "\(attempts)")
        #expect(attempts.count { $0.contains("failed") } == 1, "\(attempts)")
        await server.stop()
        service?.terminate()
    }
}
