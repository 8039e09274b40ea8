import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageStore
import ServerTestSupport
import Simulator
import TestSupport
import Testing

@testable import MessageServer

/// The nightly removal of what a business no longer keeps.
struct RetentionSweepTests {
    @Test(arguments: [
        // 1970-01-02 is a day of 86,400 seconds after the beginning.
        (86_400, 10_800), (86_400 + 10_799, 1), (86_400 + 10_800, 86_400), (86_400 + 10_801, 86_399),
        (86_400 + 86_399, 10_801),
    ])
    func `the next night is at 3:00 UTC`(_ now: Int, _ seconds: Int) {
        #expect(RetentionSweep.untilNight(now) == .seconds(seconds))
    }

    @Test func `a command trims at once, with the periods of the business's file`() async throws {
        let server = try await ServerUnderTest {
            $0.businesses[0].retention.messagesDays = 4
            $0.businesses[0].retention.deadLettersDays = 4
        }
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        _ = await server.gateway.waitForMessages(customer: customer.id)
        let body = Array(#"{"job":"\#(ControlRoutes.newJob())"}"#.utf8)
        let answer = try await server.control("/trim", method: "POST", body: body)
        #expect(answer.status == 200)
        // Nothing is four days old.
        #expect(ControlOperations.trim.answer(answer.body) == TrimReport())
        await server.stop()
        #expect(try server.conversation(of: customer).count == 2)
    }
}
