import HandlerKit
import Synchronization

/// The latest log lines of a handler, over all of its processes.
package final class LogTail: Sendable {
    private static let maximumLines = 200
    private let kept = Mutex<(lines: [HandlerLogLine], last: Int)>(([], 0))

    /// Creates an empty tail.
    package init() {}

    var lines: [HandlerLogLine] { kept.withLock { $0.lines } }

    /// Returns and removes the lines since the last call.
    package func drain() -> [String] {
        kept.withLock { kept in
            defer { kept.lines = [] }
            return kept.lines.map(\.text)
        }
    }

    func append(_ line: String) {
        kept.withLock { kept in
            // Remove a tenth of the lines at once: removing one for each new line would move all lines each
            // time.
            if kept.lines.count >= Self.maximumLines { kept.lines.removeFirst(Self.maximumLines / 10) }
            kept.last += 1
            kept.lines.append(HandlerLogLine(number: kept.last, at: .now, text: line))
        }
    }

    /// Adds the complete explanation of a refused answer.
    ///
    /// The explanation may quote the answer, so these lines are kept in memory only.
    func append(_ refusal: AnswerRefusal, of delivery: DeliveryID) {
        for problem in refusal.problems.prefix(20) {
            append(
                "[error] answer to delivery \(delivery.rawValue) refused: \(AnswerRefusal([problem]).explanation)"
            )
        }
    }
}
