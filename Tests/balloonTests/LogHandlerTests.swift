import BalloonJSON
import BalloonPOSIX
import Logging
import Testing

@testable import balloon

@Suite struct LogHandlerTests {
    private static let at = Timestamp(milliseconds: 1_795_255_200_123)

    @Test func `a line is one JSON object with the facts in order`() {
        let line = JSONLogHandler.line(
            at: Self.at, .info, "message accepted",
            ["kind": "text", "event": "x", "list": ["a", "b\n"], "more": ["n": .stringConvertible(1)]])
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"at":"2026-11-21T10:00:00.123Z","level":"info","event":"message accepted","event_":"x","kind":"text","list":["a","b\n"],"more":{"n":"1"}}"#
                + "\n")
    }

    @Test func `a line for people has no control characters but its end`() {
        let line = TextLogHandler.line(at: Self.at, .warning, "refused", ["b": "\u{1b}[2J", "a": "x\ny"])
        #expect(line == "10:00:00.123 warning refused a=x\\ny b=\\u{1b}[2J\n")
    }

    @Test func `a logger's own metadata are in each of its lines`() {
        var handler = JSONLogHandler(level: .info)
        handler[metadataKey: "business"] = "b"
        #expect(handler[metadataKey: "business"] == "b")
        #expect(handler.logLevel == .info)
    }
}
