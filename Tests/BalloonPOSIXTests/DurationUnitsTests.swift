import BalloonPOSIX
import Testing

@Suite struct DurationUnitsTests {
    @Test func `a duration that exceeds 64 bits is clamped to the largest or smallest number`() {
        #expect(Duration.seconds(Int64.max).wholeNanoseconds == .max)
        #expect(Duration.seconds(Int64.min).wholeNanoseconds == .min)
        #expect(Duration.seconds(-1).wholeMilliseconds == -1000)
        #expect(Duration.milliseconds(1999).wholeMilliseconds == 1999)
    }
}
