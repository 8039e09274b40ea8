import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import HandlerKit
import Logging
import ServerTestSupport
import Simulator
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct LogLevelTests {
    private static let fish = (id: BusinessID("b-1"), slug: "fish")

    @Test func `a change for all lines replaces every level until its end`() {
        let levels = LogLevels(.info)
        #expect(levels.minimum(.info) == .info)
        #expect(levels.threshold(.warning, business: nil) == .warning)
        levels.change(to: .debug, of: nil, for: .seconds(600))
        #expect(levels.minimum(.warning) == .debug)
        #expect(levels.threshold(.warning, business: nil) == .debug)
        #expect(levels.current?.remaining() ?? .zero > .seconds(500))
        levels.change(to: .error, of: nil, for: .seconds(600))
        #expect(levels.minimum(.info) == .error)
        levels.reset()
        #expect(levels.minimum(.info) == .info)
        #expect(levels.current == nil)
        levels.change(to: .debug, of: nil, for: .zero)
        #expect(levels.current == nil)
        #expect(levels.threshold(.info, business: nil) == .info)
    }

    @Test(
        arguments: [("b-1", .debug), ("fish", .debug), ("b-2", .info), (nil, .info)]
            as [(String?, Logger.Level)])
    func `a change for a business concerns only its lines`(name: String?, threshold: Logger.Level) {
        let levels = LogLevels(.info)
        levels.change(to: .debug, of: Self.fish, for: .seconds(600))
        // Lines of others pass the logger, and are dropped by their own threshold.
        #expect(levels.minimum(.info) == .debug)
        #expect(levels.threshold(.info, business: name) == threshold)
    }

    @Test func `stages of the changed business are logged at debug, with priorities for the journal`() {
        let written = Mutex<[UInt8]>([])
        let stream = LogStream { bytes in written.withLock { $0 += bytes } }
        let levels = LogLevels(.info)
        levels.change(to: .debug, of: Self.fish, for: .seconds(600))
        let log = JSONStageLog(level: .info, levels: levels, isJournal: true, stream: stream)
        for business in ["b-1", "b-2"] {
            log.observe(
                StageEvent(
                    stage: .decode, result: .done, nanoseconds: 0, business: BusinessID(business),
                    message: MessageID("m")))
        }
        log.observe(StageEvent(stage: .handle, result: .failed(reason: "r"), nanoseconds: 0))
        #expect(stream.flush(within: .seconds(60)))
        let lines = String(decoding: written.withLock { $0 }, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.hasPrefix(#"<7>{"at":""#) == true)
        #expect(lines.first?.contains(#""business":"b-1""#) == true)
        #expect(lines.last?.hasPrefix(#"<4>{"at":""#) == true)
    }

    @Test func `each level has its priority`() {
        #expect(
            Logger.Level.allCases.map(\.journalPriority) == ["<7>", "<7>", "<6>", "<5>", "<4>", "<3>", "<2>"])
    }

    @Test func `the control socket changes the level of a business, and refuses other requests`() {
        let levels = LogLevels(.info)
        let log = LogCollector()
        let registry = HandlerRegistry([
            BusinessHandler(
                business: BusinessID("b-1"), slug: "fish", life: nil, concurrency: 1,
                deadline: .seconds(1), logger: log.logger)
        ])
        func post(_ text: String) -> (Int, String) {
            guard let change = ControlOperations.changeLogLevel.request.value(Array(text.utf8)) else {
                return (400, "")
            }
            do throws(ControlRefusal) {
                try change.apply(to: levels, registry, log.logger)
                var writer = JSONWriter()
                ControlOperations.changeLogLevel.result.write(levels, &writer)
                return (200, String(decoding: writer.finish(), as: UTF8.self))
            } catch {
                return (error.answer.status.code, String(decoding: error.answer.body, as: UTF8.self))
            }
        }
        let (status, text) = post(#"{"level":"debug","seconds":600,"business":"fish"}"#)
        #expect(status == 200)
        #expect(text.hasPrefix(#"{"level":"info","change":{"level":"debug","business":"fish","seconds":"#))
        #expect(levels.current?.business == BusinessID("b-1"))
        #expect(log.lines.contains { $0.contains("log level changed") && $0.contains("business=fish") })
        for bad in [
            #"{"level":"loud","seconds":1}"#, #"{"level":"debug"}"#, #"{"level":"debug","seconds":0}"#,
            #"{"level":"debug","seconds":86401}"#, "{}",
        ] {
            #expect(post(bad).0 == 400, "\(bad)")
        }
        #expect(post(#"{"level":"debug","seconds":1,"business":"cat"}"#).0 == 404)
        #expect(post(#"{"reset":true}"#).1 == #"{"level":"info"}"#)
    }

    @Test func `a trace is the same for every attempt, and each attempt has a span of its own`() {
        let trace = TraceID(BusinessID("b"), MessageID("m"))
        #expect(trace == TraceID(BusinessID("b"), MessageID("m")))
        #expect(trace != TraceID(BusinessID("bm"), MessageID("")))
        // printf 'b\0m\0' | sha256sum
        #expect(trace.text == "f6f56c639e702fb10c442770b78f5983")
        let (first, second) = (trace.parent(delivery: 7, attempt: 1), trace.parent(delivery: 7, attempt: 2))
        #expect(first == "00-\(trace.text)-b8a3cdb514a0a9a5-01")
        #expect(first != second)
        #expect(first == trace.parent(delivery: 7, attempt: 1))
    }

    @Test func `the handler's trace is in the log lines of its message and of the replies`() async throws {
        let handler = TracingHandler()
        let server = try await ServerUnderTest(handler)
        let customer = server.customer()
        #expect(try await customer.post(customer.message(.text)).status == 200)
        let parent = await handler.traces.first { _ in true }
        let trace = String(try #require(parent).dropFirst(3).prefix(32))
        await server.log.first { $0.contains("message accepted") && $0.contains("trace_id=\(trace)") }
        await server.log.first { $0.contains("delivery handled") && $0.contains("trace_id=\(trace)") }
        await server.log.first {
            $0.contains("reply accepted by the gateway") && $0.contains("trace_id=\(trace)")
        }
        await server.stop()
    }
}

private final class TracingHandler: TextHandler {
    let traces = EventCollector<String>()

    func text(_ text: Text, _ context: Context) -> Outcome {
        traces.append(context.traceparent ?? "")
        return .reply(text.body)
    }
}
