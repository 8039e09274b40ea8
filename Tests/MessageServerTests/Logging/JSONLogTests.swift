import BalloonPOSIX
import BusinessMessages
import Logging
import Synchronization
import Testing

@testable import MessageServer

@Suite struct JSONLogTests {
    private static let at = Timestamp(milliseconds: 1_795_255_200_123)

    @Test func `a log line is one JSON object with its metadata sorted by name`() {
        let line = JSONLogLine.bytes(
            at: Self.at, .info, "message accepted",
            ["kind": "text", "event": "x", "list": ["a", "b\n"], "more": ["n": .stringConvertible(1)]])
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"at":"2026-11-21T10:00:00.123Z","level":"info","event":"message accepted","event_":"x","kind":"text","list":["a","b\n"],"more":{"n":"1"}}"#
                + "\n")
    }

    @Test func `a logger's own metadata are in each of its lines`() {
        var handler = LineLogHandler(level: .info, form: JSONLogLine.form(isJournal: false))
        handler[metadataKey: "business"] = "b"
        #expect(handler[metadataKey: "business"] == "b")
        #expect(handler.logLevel == .info)
    }

    @Test(arguments: [
        StageEvent.Result.done, .duplicate, .refused(status: 403, reason: "the token is \"stale\""),
        .failed(reason: "a\u{7}b"), .postponed(milliseconds: 1500, reason: "later"),
        .released(reason: "full"), .ended("unhandled"),
    ])
    func `a stage event's line equals the line of its log record`(result: StageEvent.Result) {
        for stage in StageEvent.Stage.allCases {
            var event = StageEvent(
                stage: stage, result: result, nanoseconds: 1_234_567, reference: "0123456789abcdef",
                business: BusinessID("a884eddf-0c47"), message: MessageID("m \"1\""), delivery: 12,
                kind: .text,
                attempt: 3)
            for _ in 1...2 {
                let level = LogObserver.level(of: event)
                let record = JSONLogLine.bytes(
                    at: Self.at, level, LogObserver.text(for: event), LogObserver.metadata(of: event))
                #expect(JSONStageLog.line(event, level, at: Self.at, isJournal: false) == record)
                event = StageEvent(stage: stage, result: result, nanoseconds: 0)
            }
        }
    }

    @Test func `a stage below the level is not logged`() {
        let written = Mutex<[UInt8]>([])
        let stream = LogStream { bytes in written.withLock { $0 += bytes } }
        let log = JSONStageLog(level: .info, stream: stream)
        log.observe(StageEvent(stage: .decode, result: .done, nanoseconds: 0))
        log.observe(StageEvent(stage: .finish, result: .done, nanoseconds: 0))
        #expect(stream.flush(within: .seconds(60)))
        let text = String(decoding: written.withLock { $0 }, as: UTF8.self)
        #expect(text.contains(#""event":"delivery handled""#))
        #expect(text.count { $0 == "\n" } == 1)
    }
}
