import HandlerKit
import Synchronization

/// The latest log lines of a handler, over all of its processes.
package final class LogTail: Sendable {
    private static let maximumLines = 200
    private let kept = Mutex<[String]>([])

    /// Creates an empty tail.
    package init() {}

    var lines: [String] { kept.withLock { $0 } }

    /// Returns and removes the lines since the last call.
    package func drain() -> [String] {
        kept.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    func append(_ line: String) {
        kept.withLock { lines in
            // Remove a tenth at once, so that a flood does not move all lines for each new one.
            if lines.count >= Self.maximumLines { lines.removeFirst(Self.maximumLines / 10) }
            lines.append(line)
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
