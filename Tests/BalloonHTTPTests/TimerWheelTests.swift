import Testing

@testable import BalloonHTTP

@Suite struct TimerWheelTests {
    @Test func `an entry comes out when its tick has come, once`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        #expect(wheel.insert(7, at: 103) == 103)
        #expect(wheel.advance(to: 102) == [])
        #expect(wheel.advance(to: 103) == [7])
        #expect(wheel.advance(to: 200) == [])
        #expect(wheel.count == 0)
    }

    @Test func `a tick that has passed means the next one`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        #expect(wheel.insert(7, at: 5) == 101)
        #expect(wheel.advance(to: 101) == [7])
    }

    @Test func `a tick beyond the wheel is looked at on the way`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        #expect(wheel.insert(7, at: 1000) == 107)
        #expect(wheel.advance(to: 106) == [])
        #expect(wheel.advance(to: 107) == [7])
    }

    @Test func `a long pause passes every bucket once`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        for tick in 101...107 { _ = wheel.insert(UInt64(tick), at: UInt64(tick)) }
        #expect(wheel.count == 7)
        #expect(wheel.advance(to: 10_000).sorted() == Array(101...107))
        #expect(wheel.count == 0)
        #expect(wheel.now == 10_000)
    }

    @Test func `time that goes back changes nothing`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        _ = wheel.insert(7, at: 101)
        #expect(wheel.advance(to: 99) == [])
        #expect(wheel.now == 100)
    }

    @Test(arguments: [
        (Duration.zero, 1), (.milliseconds(127), 1), (.milliseconds(128), 2), (.seconds(128), 1001),
        (.seconds(-1), 1),
    ])
    func `a wait is never shorter than asked`(_ duration: Duration, _ ticks: Int) {
        #expect(TimerWheel.ticks(duration) == UInt64(ticks))
    }
}
