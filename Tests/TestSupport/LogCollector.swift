public import Logging
import Synchronization

/// Collects every log line of a test, so that it can look for what must be there and what never may be.
public final class LogCollector: Sendable {
    private let collected = Mutex<[String]>([])

    /// Begins with no lines.
    public init() {}

    /// A logger at trace level that writes here.
    public var logger: Logger {
        Logger(label: "test") { _ in CollectingHandler(collector: self) }
    }

    /// Every line so far, message and metadata in one string each.
    public var lines: [String] { collected.withLock { $0 } }

    fileprivate func append(_ line: String) { collected.withLock { $0.append(line) } }
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
