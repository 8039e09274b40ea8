import BalloonJSON
import BusinessMessages
import Testing

@testable import Simulator

@Suite struct SampleMessageTests {
    @Test(arguments: Kind.allCases)
    func `a sample of each kind is read as that kind`(kind: Kind) async throws {
        let document = try JSONDocument(Array("{\(SampleMessage().members(of: kind))}".utf8))
        #expect(InboundEvent.decode(message: document).kind == kind)
    }
}
