public import Logging

/// Collects every log line of a test, message and metadata in one string each.
public typealias LogCollector = EventCollector<String>

extension EventCollector where Event == String {
    /// A logger at trace level that writes to this collector.
    public var logger: Logger { Logger(label: "test") { _ in CollectingHandler(collector: self) } }

    /// Every line so far.
    public var lines: [String] { events }
}

private struct CollectingHandler: LogHandler {
    let collector: EventCollector<String>
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(collector: EventCollector<String>) { self.collector = collector }

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
