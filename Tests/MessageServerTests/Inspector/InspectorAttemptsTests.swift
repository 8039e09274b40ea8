import BusinessMessages
import HandlerKit
import Synchronization
import Testing

@testable import MessageServer

@Suite struct InspectorAttemptsTests {
    private static let business = BusinessID("b-1")

    private static func begin(
        _ attempts: InspectorAttempts, _ delivery: UInt64, _ number: Int = 1, state: [UInt8]? = nil
    ) -> Int {
        attempts.begin(delivery, attempt: number, of: business, state: state)
    }

    @Test func `the oldest calls are dropped beyond 2,000, and their ends change nothing`() async {
        let attempts = InspectorAttempts()
        let first = Self.begin(attempts, 0)
        for delivery in 1...2_000 { _ = Self.begin(attempts, UInt64(delivery)) }
        await attempts.end(first, of: LoggingHandler())
        #expect(attempts.calls(of: 0, []).isEmpty)
        #expect(attempts.calls(of: 1, []).first?.ended == nil)
        #expect(attempts.calls(of: 2_000, []).count == 1)
    }

    @Test func `states of more than 16 MiB drop the oldest calls`() {
        let attempts = InspectorAttempts()
        let state = [UInt8](repeating: 0x20, count: 1 << 20)
        // Each call has the state before and after.
        for delivery in 1...8 { _ = Self.begin(attempts, UInt64(delivery), state: state) }
        #expect(attempts.calls(of: 1, []).isEmpty)
        #expect(attempts.calls(of: 2, []).count == 1)
        #expect(attempts.calls(of: 8, []).first?.before == state)
    }

    @Test func `a decided state is that of the latest call, and null removes it`() {
        let attempts = InspectorAttempts()
        let (one, two) = (Array(#"{"n":1}"#.utf8), Array(#"{"n":2}"#.utf8))
        _ = Self.begin(attempts, 7, 1, state: one)
        _ = Self.begin(attempts, 7, 2, state: one)
        attempts.decide(7, state: two)
        #expect(attempts.calls(of: 7, []).map(\.after) == [one, two])
        attempts.decide(7, state: Array("null".utf8))
        #expect(attempts.calls(of: 7, []).map(\.after) == [one, nil])
        attempts.decide(8, state: two)
    }

    @Test func `a line belongs to the call during which it was written, also when it is read late`() async {
        let (attempts, handler) = (InspectorAttempts(), LoggingHandler())
        handler.write("before all calls")
        let first = Self.begin(attempts, 1)
        handler.write("of the first")
        await attempts.end(first, of: handler)
        handler.write("late, of the first")
        let second = Self.begin(attempts, 2)
        handler.write("of the second")
        await attempts.end(second, of: handler)
        let log = handler.report.lines
        #expect(
            attempts.calls(of: 1, log).flatMap(\.lines).map(\.text) == ["of the first", "late, of the first"])
        #expect(attempts.calls(of: 2, log).flatMap(\.lines).map(\.text) == ["of the second"])
        // The handler's log keeps its newest lines only; the call has a copy of those that it saw.
        #expect(attempts.calls(of: 1, []).flatMap(\.lines).map(\.text) == ["of the first"])
    }
}

/// A handler that has a log and is never called.
private final class LoggingHandler: EventHandler {
    private let lines = Mutex<[HandlerLogLine]>([])

    var subscriptions: Set<Subscription> { [] }
    var maximumInFlight: Int? { nil }
    var downSince: ContinuousClock.Instant? { nil }
    var report: HandlerReport { HandlerReport(health: .ready, lines: lines.withLock { $0 }) }
    func waitUntilReady() async -> Bool { true }
    func stopWaiting() {}
    func restart() async {}

    func handle(_ context: Context) async throws -> Outcome {
        Issue.record("the handler was called")
        return .handled
    }

    func write(_ text: String) {
        lines.withLock { $0.append(HandlerLogLine(number: $0.count + 1, at: .now, text: text)) }
    }
}
