import BalloonJSON
import BalloonTransport
import BalloonWire
import BusinessMessages
import TestSupport
import Testing

@testable import GatewayClient

@Suite struct RetryBudgetTests {
    @Test func `the retry budget starts with 100 retries, and five requests earn one more`() {
        let budget = RetryBudget()
        #expect((0..<101).map { _ in budget.spend() }.count { $0 } == 100)
        for _ in 0..<4 { budget.earn() }
        #expect(!budget.spend())
        budget.earn()
        #expect(budget.spend())
        #expect(!budget.spend())
    }

    @Test func `when every request fails, most fetches are attempted only once`() async throws {
        let transport = StubTransport(Array(repeating: .answer(503), count: 400))
        let clock = RecordingClock()
        let client = try GatewayClient(
            configuration: GatewayConfiguration(
                baseURL: "https://gateway.example/v1", mspID: "m", secret: .random(byteCount: 32)),
            transport: transport, clock: clock, logger: LogCollector().logger)
        let json = """
            {"url": "https://content.icloud.com/M1", "owner": "M1", "bid": "com.example", "size": 3,
             "signature": "81a619c8", "key": "00\(String(repeating: "0f", count: 32))"}
            """
        let reference = try #require(PayloadReference(JSONDocument(Array(json.utf8)).root))
        for _ in 0..<200 {
            await #expect(throws: GatewayError.self) {
                try await client.resolve(reference, for: BusinessID("b"), within: .seconds(60))
            }
        }
        // 100 retries are saved at first, and 200 requests earn about 40 more.
        #expect((100...141).contains(clock.waits.count))
    }
}
