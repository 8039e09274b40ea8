import BalloonPOSIX
import Testing

@testable import MessageServer

@Suite struct RetryScheduleTests {
    private let schedule = RetrySchedule()

    @Test func `each failed attempt except the last is followed by its pause`() {
        let pauses = (1...7).map { schedule.delay(after: $0, random: 0.5) }
        #expect(
            pauses == [
                .seconds(1), .seconds(5), .seconds(30), .seconds(120), .seconds(600), .seconds(3600), nil,
            ])
    }

    @Test func `a failing delivery blocks its conversation for three pauses, and never for a long one`() {
        let parks = (1...6).map {
            schedule.parks(after: $0, for: schedule.delay(after: $0, random: 1) ?? .zero)
        }
        #expect(parks == [false, false, false, true, true, true])
        #expect(schedule.parks(after: 1, for: .seconds(300)))
    }

    @Test func `jitter changes a pause by at most a fifth`() {
        #expect(schedule.delay(after: 2, random: 0) == .seconds(4))
        #expect(schedule.delay(after: 2, random: 1) == .seconds(6))
    }

    @Test func `a handler can lengthen a pause within bounds, and cannot add an attempt`() {
        #expect(schedule.delay(after: 1, asked: .seconds(7), random: 0.5) == .seconds(7))
        #expect(schedule.delay(after: 1, asked: .seconds(9999), random: 0.5) == .seconds(300))
        #expect(schedule.delay(after: 6, asked: .seconds(9999), random: 0.5) == .seconds(3600))
        #expect(schedule.delay(after: 7, asked: .seconds(7), random: 0.5) == nil)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int.min), .milliseconds(1)], [0, 0.5, 1])
    func `a handler's delay of zero does not shorten the scheduled pause`(
        _ asked: Duration, _ random: Double
    ) {
        let pauses = (1...6).compactMap { schedule.delay(after: $0, asked: asked, random: random) }
        #expect(zip(pauses, schedule.backoff.delays).allSatisfy { $0 >= $1 && $0 <= $1 * 1.2 })
        #expect(pauses.count == 6)
    }

    @Test func `a handler that asks for a delay of zero gets one second`() {
        var quick = RetrySchedule()
        quick.backoff.delays = [.milliseconds(1)]
        #expect(quick.delay(after: 1, asked: .zero, random: 1) == .seconds(1))
        #expect(quick.delay(after: 1, random: 0.5) == .milliseconds(1))
    }
}
