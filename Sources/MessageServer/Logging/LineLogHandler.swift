package import BalloonPOSIX
package import Logging

/// Writes log records to standard error, each as one line.
package struct LineLogHandler: LogHandler {
    /// The line of a record, with its line feed.
    package typealias Form = @Sendable (Timestamp, Logger.Level, _ event: String, Logger.Metadata) -> [UInt8]

    /// The metadata of every line.
    package var metadata: Logger.Metadata = [:]
    private var ownLevel: Logger.Level
    private let levels: LogLevels?
    private let form: Form

    /// Creates a handler with this minimum level, which `levels` may change.
    package init(level: Logger.Level, levels: LogLevels? = nil, form: @escaping Form) {
        ownLevel = level
        self.levels = levels
        self.form = form
    }

    /// The minimum level of written lines.
    package var logLevel: Logger.Level {
        get { levels?.minimum(ownLevel) ?? ownLevel }
        set { ownLevel = newValue }
    }

    /// Accesses one entry of ``metadata``.
    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    package func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }
        if let levels, levels.threshold(ownLevel, business: facts["business"].map { "\($0)" }) > event.level {
            return
        }
        LogStream.standardError.write(
            form(.now(), event.level, "\(event.message)", facts), isUrgent: event.level >= .warning
        ) { Self.dropped($0, form) }
    }

    static func dropped(_ count: Int, _ form: Form) -> [UInt8] {
        form(.now(), .warning, "log lines dropped", ["count": "\(count)"])
    }
}
