public import Logging
import Synchronization

/// Collects every log line of a test, so that it can check for required and forbidden lines.
public final class LogCollector: Sendable {
    private typealias Waiter = (wanted: @Sendable (String) -> Bool, CheckedContinuation<Void, Never>)
    private let state = Mutex<(lines: [String], waiters: [Waiter])>(([], []))

    /// Creates a collector without lines.
    public init() {}

    /// A logger at trace level that writes to this collector.
    public var logger: Logger {
        Logger(label: "test") { _ in CollectingHandler(collector: self) }
    }

    /// Every line so far, message and metadata in one string each.
    public var lines: [String] { state.withLock { $0.lines } }

    /// Waits for a line, past or to come, that is `wanted`; calls `wanted` once for each line, so that it may count.
    public func first(where wanted: @escaping @Sendable (String) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.lines.contains(where: wanted) { return true }
                state.waiters.append((wanted, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Waits until `count` lines, past or to come, are `wanted`.
    public func count(_ count: Int, where wanted: @escaping @Sendable (String) -> Bool) async {
        let seen = Mutex(0)
        await first { line in
            guard wanted(line) else { return false }
            return seen.withLock { seen in
                seen += 1
                return seen == count
            }
        }
    }

    fileprivate func append(_ line: String) {
        let ready = state.withLock { state in
            state.lines.append(line)
            var ready: [Waiter] = []
            state.waiters.removeAll { waiter in
                guard waiter.wanted(line) else { return false }
                ready.append(waiter)
                return true
            }
            return ready
        }
        for (_, waiter) in ready { waiter.resume() }
    }
}

private struct CollectingHandler: LogHandler {
    let collector: LogCollector
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(collector: LogCollector) { self.collector = collector }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let facts = all.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        collector.append("\(event.level) \(event.message) \(facts)")
    }
}
