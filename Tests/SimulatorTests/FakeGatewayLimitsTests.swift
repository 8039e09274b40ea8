import BalloonJSON
import BalloonWire
import BusinessMessages
import Logging
import Testing

@testable import Simulator

@Suite struct FakeGatewayLimitsTests {
    @Test func `the oldest messages are dropped first, and numbers continue`() throws {
        let gateway = Self.gateway()
        let message = try JSONDocument(Array("{}".utf8))
        for number in 1...10_002 {
            gateway.deliver(MessageID("\(number)"), to: CustomerID("c"), from: BusinessID("b"), message)
        }
        let kept = gateway.messages(after: 0, customer: nil)
        #expect(kept.found.count == 10_000)
        #expect(kept.found.first?.number == 3)
        #expect(kept.lastNumber == 10_002)
        // A repetition of a kept message increments its count; a repetition of a dropped message is new.
        gateway.deliver(MessageID("10001"), to: CustomerID("c"), from: BusinessID("b"), message)
        gateway.deliver(MessageID("1"), to: CustomerID("c"), from: BusinessID("b"), message)
        let last = gateway.messages(after: 10_000, customer: nil).found
        #expect(last.map(\.number) == [10_001, 10_002, 10_003])
        #expect(last.map(\.repeats) == [1, 0, 0])
    }

    @Test func `payloads are found by name and by the URL of their reference`() throws {
        let gateway = Self.gateway()
        let data = try JSONDocument(Array("{}".utf8)).root
        let payload = try StoredPayload(SimulatedPayload(business: BusinessID("b"), interactiveData: data))
        gateway.store(payload)
        #expect(try gateway.payload(named: payload.name)?.content.readAll() == payload.content.readAll())
        #expect(gateway.payload(url: payload.reference.url)?.name == payload.name)
        #expect(gateway.payload(url: payload.name) == nil)
    }

    private static func gateway() -> FakeGateway {
        FakeGateway(mspID: "msp", secret: .random(byteCount: 32), logger: Logger(label: "test"))
    }
}
