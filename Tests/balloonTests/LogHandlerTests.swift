import BalloonPOSIX
import Logging
import Testing

@testable import balloon

@Suite struct LogHandlerTests {
    @Test func `a text log line has no control characters except its line feed`() {
        let at = Timestamp(milliseconds: 1_795_255_200_123)
        let line = textLogLine(at: at, .warning, "refused", ["b": "\u{1b}[2J", "a": "x\ny"])
        #expect(
            String(decoding: line, as: UTF8.self) == "10:00:00.123 warning refused a=x\\ny b=\\u{1b}[2J\n")
    }
}
