import BalloonTransport
import BusinessMessages
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// One business whose handler handles nothing, and another that must not be affected.
@Suite struct PendingQuotaTests {
    @Test func `only a business over its quota gets 503, and it is served again later`() async throws {
        let handler = BlockingHandler()
        let server = try await ServerUnderTest(handler) { $0.businesses[0].maximumPendingMessages = 2 }
        let full = server.customer()
        let other = server.customer(to: ServerUnderTest.otherBusiness)
        let first = full.message(.text, text: "block")
        #expect(try await full.post(first).status == 200)
        await handler.waitForBlocked(1)
        #expect(try await full.post(full.message(.text, text: "waits")).status == 200)
        let refused = try await full.post(full.message(.text, text: "too many"))
        #expect(refused.status == 503)
        #expect(refused.header("Retry-After") == "5")
        #expect(try await full.post(first).status == 200)
        #expect(try await other.post(other.message(.text)).status == 200)
        #expect(await server.gateway.waitForMessages(customer: other.id).count == 1)
        handler.release()
        #expect(await server.gateway.waitForMessages(customer: full.id).count == 1)
        await server.stop()
        let reasons = server.stages.events.compactMap { event -> String? in
            if event.stage == .journal, case .failed(let reason) = event.result { reason } else { nil }
        }
        #expect(reasons == ["the business's quota of 2 unfinished messages is reached"])
    }
}
