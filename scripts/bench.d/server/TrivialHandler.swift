import BalloonPOSIX
import BusinessMessages
import Dispatch
import Glibc
import HandlerKit
import Logging
import MessageServer
import Synchronization

/// Handles every event without a reply, and counts them.
struct TrivialHandler: TimePickerHandler, TextHandler {
    func timePicker(_ timePicker: TimePicker, _ context: Context) -> Outcome { handled() }
    func text(_ text: Text, _ context: Context) -> Outcome { handled() }

    private func handled() -> Outcome {
        HandledCount.value.add(1, ordering: .relaxed)
        return .handled
    }
}

/// Creates the counting handler for `"handler": {"builtin": "trivial"}`.
struct TrivialFactory: HandlerFactory {
    let name = "trivial"
    func make(configuration: JSONValue?) -> any Handler { TrivialHandler() }
}

/// A handler that never starts: `"handler": {"builtin": "absent"}`.
struct AbsentHandler: LifecycleHandler, TextHandler {
    struct IsAbsent: Error {}

    func provision(_ host: HandlerHost) throws { throw IsAbsent() }
    func shutdown() {}
    func text(_ text: Text, _ context: Context) -> Outcome { .handled }
}

/// Creates it.
struct AbsentFactory: HandlerFactory {
    let name = "absent"
    func make(configuration: JSONValue?) -> any Handler { AbsentHandler() }
}

/// The numbers of accepted messages and handled events so far.
enum HandledCount {
    static let accepted = Atomic<Int>(0)
    static let value = Atomic<Int>(0)

    /// Prints `accepted N handled N p99 N` on standard output for every SIGUSR1; the last number is that of
    /// ``LatencyObserver``, in microseconds.
    static func reportOnSignal() -> any DispatchSourceSignal {
        _ = signal(SIGUSR1, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        source.setEventHandler { @Sendable in
            // Read in this order, so that the backlog is never negative.
            let handled = value.load(ordering: .relaxed)
            StandardStream.output.write(
                "accepted \(accepted.load(ordering: .relaxed)) handled \(handled) p99 \(DeliveryTimes.takeP99())\n"
            )
        }
        source.resume()
        return source
    }
}

/// Counts accepted messages on the way to the log.
struct CountingObserver: StageObserver {
    let log = JSONStageLog(level: .info)

    func observe(_ event: StageEvent) {
        if event.stage == .journal, case .done = event.result {
            HandledCount.accepted.add(1, ordering: .relaxed)
        }
        log.observe(event)
    }
}

/// The times of one business's messages from the journal to the end of their deliveries, since they were last read.
enum DeliveryTimes {
    private struct State {
        var began: [MessageID: UInt64] = [:]
        var microseconds: [UInt64] = []
    }

    private static let state = Mutex(State())

    static func begin(_ message: MessageID) {
        let now = SystemClock.nanoseconds()
        state.withLock { $0.began[message] = now }
    }

    static func end(_ message: MessageID) {
        let now = SystemClock.nanoseconds()
        state.withLock { state in
            guard let began = state.began.removeValue(forKey: message) else { return }
            state.microseconds.append((now - began) / 1000)
        }
    }

    /// The 99th percentile; messages that are not delivered yet count as delivered now.
    static func takeP99() -> UInt64 {
        let now = SystemClock.nanoseconds()
        return state.withLock { state in
            let times = (state.microseconds + state.began.values.map { (now - $0) / 1000 }).sorted()
            state = State()
            return times.isEmpty ? 0 : times[times.count * 99 / 100]
        }
    }
}

/// Measures the deliveries of one business.
struct LatencyObserver: StageObserver {
    private let business: BusinessID
    private let counting = CountingObserver()

    init(of business: BusinessID) { self.business = business }

    func observe(_ event: StageEvent) {
        if event.business == business, let message = event.message {
            switch event.stage {
            case .journal: DeliveryTimes.begin(message)
            case .finish: DeliveryTimes.end(message)
            default: break
            }
        }
        counting.observe(event)
    }
}
