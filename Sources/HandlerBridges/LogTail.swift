import Synchronization

/// The latest lines that a handler logged, over all of its lives.
package final class LogTail: Sendable {
    private static let maximumLines = 200
    private let kept = Mutex<[String]>([])

    /// Starts empty.
    package init() {}

    var lines: [String] { kept.withLock { $0 } }

    /// The lines since the last call, which are forgotten.
    package func drain() -> [String] {
        kept.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    func append(_ line: String) {
        kept.withLock { lines in
            // A tenth at a time, so that a flood does not move the others for each line.
            if lines.count >= Self.maximumLines { lines.removeFirst(Self.maximumLines / 10) }
            lines.append(line)
        }
    }
}
