import Testing

@testable import BalloonHTTP

@Suite struct TimerWheelTests {
    @Test func `a timer entry is returned once, at its tick`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        #expect(wheel.insert(7, at: 103) == 103)
        #expect(wheel.advance(to: 102) == [])
        #expect(wheel.advance(to: 103) == [7])
        #expect(wheel.advance(to: 200) == [])
        #expect(wheel.count == 0)
    }

    @Test func `a timer entry at a passed tick is returned at the next tick`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        #expect(wheel.insert(7, at: 5) == 101)
        #expect(wheel.advance(to: 101) == [7])
    }

    @Test func `a timer entry beyond the last bucket is returned earlier`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        #expect(wheel.insert(7, at: 1000) == 107)
        #expect(wheel.advance(to: 106) == [])
        #expect(wheel.advance(to: 107) == [7])
    }

    @Test func `advancing past all buckets of the wheel visits each bucket once`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        for tick in 101...107 { _ = wheel.insert(UInt64(tick), at: UInt64(tick)) }
        #expect(wheel.count == 7)
        #expect(wheel.advance(to: 10_000).sorted() == Array(101...107))
        #expect(wheel.count == 0)
        #expect(wheel.now == 10_000)
    }

    @Test func `advancing the wheel to an earlier tick changes nothing`() {
        var wheel = TimerWheel(bucketCount: 8, now: 100)
        _ = wheel.insert(7, at: 101)
        #expect(wheel.advance(to: 99) == [])
        #expect(wheel.now == 100)
    }

    @Test(arguments: [
        (Duration.zero, 1), (.milliseconds(127), 1), (.milliseconds(128), 2), (.seconds(128), 1001),
        (.seconds(-1), 1),
    ])
    func `the ticks for a duration are never shorter than the duration`(_ duration: Duration, _ ticks: Int) {
        #expect(TimerWheel.ticks(duration) == UInt64(ticks))
    }
}
