import BusinessMessages
import Synchronization
import TestSupport
import Testing

@testable import MessageServer

@Suite struct TypingIndicatorTests {
    private let name = ConversationID(business: BusinessID("b"), customer: CustomerID("c"))
    private let sent = Sent()

    private let timers = ManualTimers()

    private func indicators(lifetime: Duration = .seconds(300)) -> TypingIndicators {
        TypingIndicators(
            lifetime: lifetime, timer: timers.add, send: { [sent] in sent.append("\($1 ? "start" : "end")") },
            publish: { [sent] in sent.append("event \($1)") })
    }

    private func running(_ indicators: TypingIndicators, _ body: () async -> Void) async {
        let task = Task { await indicators.run() }
        await body()
        indicators.stop()
        await task.value
    }

    @Test func `an indicator ends after its time, and its entry is removed`() async {
        let indicators = indicators(lifetime: .seconds(30))
        await running(indicators) {
            #expect(indicators.begin(in: name) == .begun)
            #expect(await eventually { sent.texts.contains("start") && !indicators.isSending })
            timers.advance(by: .milliseconds(29_999))
            #expect(sent.texts.count == 2)
            timers.advance(by: .milliseconds(1))
            #expect(await eventually { sent.texts.count == 4 })
            #expect(await eventually { indicators.count == 0 })
        }
        #expect(Set(sent.texts) == ["event true", "start", "event false", "end"])
    }

    @Test func `a start within three seconds of the last is refused, and a later one extends it`() async {
        let indicators = indicators()
        let now = ContinuousClock.now
        await running(indicators) {
            #expect(indicators.begin(in: name, now: now) == .begun)
            #expect(indicators.begin(in: name, now: now + .milliseconds(2999)) == .tooSoon)
            #expect(await eventually { sent.texts.contains("start") })
            indicators.end(in: name)
            #expect(indicators.begin(in: name, now: now + .milliseconds(2999)) == .tooSoon)
            #expect(await eventually { sent.texts.contains("end") })
            #expect(indicators.begin(in: name, now: now + .seconds(3)) == .begun)
            #expect(await eventually { sent.texts.count { $0 == "start" } == 2 })
        }
    }

    @Test func `after a message to the customer no end of the indicator is sent`() async {
        let indicators = indicators()
        await running(indicators) {
            _ = indicators.begin(in: name)
            #expect(await eventually { sent.texts.contains("start") && !indicators.isSending })
            indicators.end(in: name, isMessageSent: true)
            indicators.end(in: name, isMessageSent: true)
            indicators.end(in: name)
        }
        #expect(sent.texts.filter { $0.hasPrefix("event") } == ["event true", "event false"])
        #expect(sent.texts.filter { !$0.hasPrefix("event") } == ["start"])
    }

    @Test func `a start in one conversation too many is refused`() {
        let indicators = indicators()
        for number in 0..<TypingIndicators.maximumPerBusiness {
            let name = ConversationID(business: name.business, customer: CustomerID("\(number)"))
            #expect(indicators.begin(in: name) == .begun)
        }
        #expect(indicators.begin(in: name) == .tooMany)
        let other = ConversationID(business: BusinessID("other"), customer: CustomerID("c"))
        #expect(indicators.begin(in: other) == .begun)
    }

    @Test func `an indicator that ended is forgotten when another one may begin`() async {
        let indicators = indicators()
        await running(indicators) {
            _ = indicators.begin(in: name)
            indicators.end(in: name)
            #expect(await eventually { !indicators.isSending })
            timers.advance(by: TypingIndicators.pause - .milliseconds(1))
            #expect(!indicators.isSending && indicators.count == 1)
            timers.advance(by: .milliseconds(1))
            #expect(await eventually { indicators.count == 0 })
        }
    }
}

/// Timers that run when the test advances the time.
private final class ManualTimers: Sendable {
    private typealias Timer = (due: Duration, body: @Sendable () -> Void)
    private let state = Mutex<(now: Duration, timers: [Timer])>((.zero, []))

    func add(_ time: Duration, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.timers.append(($0.now + time, body)) }
    }

    func advance(by time: Duration) {
        let due = state.withLock { state -> [Timer] in
            state.now += time
            let now = state.now
            defer { state.timers.removeAll { $0.due <= now } }
            return state.timers.filter { $0.due <= now }
        }
        for timer in due { timer.body() }
    }
}

/// The indicators that were sent, and the published events, in order.
private final class Sent: Sendable {
    private let state = Mutex<[String]>([])
    var texts: [String] { state.withLock { $0 } }
    func append(_ text: String) { state.withLock { $0.append(text) } }
}
