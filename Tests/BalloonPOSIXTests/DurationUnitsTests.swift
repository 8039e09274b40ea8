import BalloonPOSIX
import Testing

@Suite struct DurationUnitsTests {
    @Test func `a duration beyond 64 bits becomes the longest, and a negative one the shortest`() {
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
        #expect(Duration.seconds(-1).wholeMilliseconds == -1000)
        #expect(Duration.milliseconds(1999).wholeMilliseconds == 1999)
    }
}
