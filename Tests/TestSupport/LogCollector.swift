public import Logging
import Synchronization

/// Collects every log line of a test, so that it can look for what must be there and what never may be.
public final class LogCollector: Sendable {
    private typealias Waiter = (wanted: @Sendable (String) -> Bool, CheckedContinuation<Void, Never>)
    private let collected = Mutex<[String]>([])
    private let waiters = Mutex<[Waiter]>([])

    /// Begins with no lines.
    public init() {}

    /// A logger at trace level that writes here.
    public var logger: Logger {
        Logger(label: "test") { _ in CollectingHandler(collector: self) }
    }

    /// Every line so far, message and metadata in one string each.
    public var lines: [String] { collected.withLock { $0 } }

    /// Waits for a line, past or to come, that is `wanted`.
    public func first(where wanted: @escaping @Sendable (String) -> Bool) async {
        await withCheckedContinuation { continuation in
            // Kept before the lines are looked at, so that none can slip between.
            waiters.withLock { $0.append((wanted, continuation)) }
            for line in lines where wanted(line) { return wake(line) }
        }
    }

    fileprivate func append(_ line: String) {
        collected.withLock { $0.append(line) }
        wake(line)
    }

    private func wake(_ line: String) {
        let ready = waiters.withLock { waiters in
            var ready: [Waiter] = []
            waiters.removeAll { waiter in
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
