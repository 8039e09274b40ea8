public import Logging
public import Testing

/// Collects every log line of a test, so that it can check for required and forbidden lines.
public final class LogCollector: Sendable {
    private let collector = EventCollector<String>()

    /// Creates a collector without lines.
    public init() {}

    /// A logger at trace level that writes to this collector.
    public var logger: Logger {
        Logger(label: "test") { _ in CollectingHandler(collector: collector) }
    }

    /// Every line so far, message and metadata in one string each.
    public var lines: [String] { collector.events }

    /// Waits for a line that `wanted` accepts, among the lines so far and later ones.
    ///
    /// Calls `wanted` once for each line, so that it may count.
    ///
    /// The test fails when there is none within ``WaitLimit``.
    public func first(
        _ location: SourceLocation = #_sourceLocation, where wanted: @escaping @Sendable (String) -> Bool
    ) async {
        await collector.first(at: location, where: wanted)
    }

    /// Waits until `wanted` has accepted `count` lines, like ``first(_:where:)``.
    public func count(
        _ count: Int, _ location: SourceLocation = #_sourceLocation,
        where wanted: @escaping @Sendable (String) -> Bool
    ) async {
        await collector.count(count, at: location, where: wanted)
    }
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
