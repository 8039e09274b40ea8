import BalloonPOSIX
import HandlerKit
import Synchronization

/// The newest calls of handlers with the state before and after each, and the lines that the handler logged meanwhile.
///
/// In memory only: at most 2,000 calls and 16 MiB. States and log lines may quote customers.
final class InspectorAttempts: Sendable {
    /// One call of a handler.
    struct Attempt: Sendable {
        let delivery: UInt64
        /// The number of the attempt; a fallback is called in the same attempt as the handler before it.
        let number: Int
        let business: BusinessID
        let began: ContinuousClock.Instant
        fileprivate(set) var ended: ContinuousClock.Instant?
        /// The conversation's state, a JSON object; nil when it has none.
        let before: [UInt8]?
        /// The state after the call; equal to `before` unless an outcome with a new state was decided.
        fileprivate(set) var after: [UInt8]?
        /// The log lines of the call.
        fileprivate(set) var lines: [HandlerLogLine] = []

        fileprivate var sizeBytes: Int {
            (before?.count ?? 0) + (after?.count ?? 0) + lines.reduce(256) { $0 + $1.text.utf8.count + 64 }
        }
    }

    private static let maximumCount = 2_000
    private static let maximumBytes = 16 << 20
    private static let maximumLines = 100
    /// The time after a call's end within which a log line still counts as a line of the call.
    private static let lateness = Duration.milliseconds(250)

    private struct State {
        /// The attempts by ticket; tickets are numbered without gaps, and the oldest are dropped first.
        var attempts = Deque<Attempt>()
        var dropped = 0
        var bytes = 0

        mutating func change(_ index: Int, _ change: (inout Attempt) -> Void) {
            bytes -= attempts[index].sizeBytes
            change(&attempts[index])
            bytes += attempts[index].sizeBytes
        }
    }

    private let state = Mutex(State())

    /// Records the begin of a call; returns its ticket.
    func begin(
        _ delivery: UInt64, attempt number: Int, of business: BusinessID, state before: [UInt8]?
    ) -> Int {
        let attempt = Attempt(
            delivery: delivery, number: number, business: business, began: .now, before: before,
            after: before)
        return state.withLock { state in
            state.attempts.append(attempt)
            state.bytes += attempt.sizeBytes
            while state.attempts.count > Self.maximumCount || state.bytes > Self.maximumBytes,
                let oldest = state.attempts.popFirst()
            {
                state.bytes -= oldest.sizeBytes
                state.dropped += 1
            }
            return state.dropped + state.attempts.count - 1
        }
    }

    /// Records the end of a call, with the lines that its handler logged so far.
    func end(_ ticket: Int, of handler: any Handler) async {
        let now = ContinuousClock.now
        let log = await (handler as? any EventHandler)?.report.lines ?? []
        state.withLock { state in
            let index = ticket - state.dropped
            guard state.attempts.indices.contains(index) else { return }
            state.change(index) { attempt in
                attempt.ended = now
                attempt.lines = Self.lines(log, of: attempt, until: now + Self.lateness)
            }
        }
    }

    /// Records the state that the latest call of a delivery decided; `null` means that the state was removed.
    func decide(_ delivery: UInt64, state decided: [UInt8]) {
        state.withLock { state in
            guard let index = state.attempts.lastIndex(where: { $0.delivery == delivery }) else {
                return
            }
            state.change(index) { $0.after = decided == Array("null".utf8) ? nil : decided }
        }
    }

    /// The calls of a delivery, oldest first; `log` are the newest lines of its handler.
    func calls(of delivery: UInt64, _ log: [HandlerLogLine]) -> [Attempt] {
        state.withLock { state in
            state.attempts.filter { $0.delivery == delivery }.map { attempt in
                // Lines after the begin of the handler's next call belong to that call.
                let next = state.attempts.lazy.filter { other in
                    other.business == attempt.business && attempt.ended.map { other.began > $0 } ?? false
                }.map(\.began).min()
                let end = attempt.ended.map { $0 + Self.lateness } ?? .now
                var attempt = attempt
                let known = attempt.lines.last?.number ?? 0
                attempt.lines += Self.lines(
                    log.filter { $0.number > known }, of: attempt, until: min(next ?? end, end))
                attempt.lines.removeAll { line in next.map { line.at >= $0 } ?? false }
                return attempt
            }
        }
    }

    private static func lines(
        _ log: [HandlerLogLine], of attempt: Attempt, until end: ContinuousClock.Instant
    ) -> [HandlerLogLine] {
        Array(log.filter { $0.at >= attempt.began && $0.at <= end }.suffix(maximumLines))
    }
}
