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

/// Creates it for `"handler": {"builtin": "trivial"}`.
struct TrivialFactory: HandlerFactory {
    let name = "trivial"
    func make(configuration: JSONValue?) -> any Handler { TrivialHandler() }
}

/// The numbers of accepted messages and handled events so far.
enum HandledCount {
    static let accepted = Atomic<Int>(0)
    static let value = Atomic<Int>(0)

    /// Prints `accepted N handled N` on standard output for every SIGUSR1.
    static func reportOnSignal() -> any DispatchSourceSignal {
        _ = signal(SIGUSR1, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGUSR1, queue: .global())
        source.setEventHandler { @Sendable in
            // Read in this order, so that the backlog is never negative.
            let handled = value.load(ordering: .relaxed)
            StandardStream.output.write("accepted \(accepted.load(ordering: .relaxed)) handled \(handled)\n")
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
