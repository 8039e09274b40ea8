import BalloonPOSIX
import Testing

@testable import MessageStore

struct SteadyClockTests {
    @Test func `data expires by the wall clock, but not by one that was set forward`() {
        let before = SteadyClock.forExpiry()
        let later = SteadyClock.forExpiry(before.advanced(by: .seconds(365 * 86_400)))
        #expect(later >= before)
        #expect(later < before.advanced(by: .seconds(3600)))
        let earlier = before.advanced(by: .seconds(-365 * 86_400))
        #expect(SteadyClock.forExpiry(earlier) == earlier)
    }
}
