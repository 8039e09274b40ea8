import BalloonPOSIX
import Logging
import MessageServer

/// Writes log lines to standard error for a person: `10:00:00.123 info message accepted kind=text`.
struct TextLogHandler: LogHandler {
    var metadata: Logger.Metadata = [:]
    private var ownLevel: Logger.Level
    private let levels: LogLevels?

    init(level: Logger.Level, levels: LogLevels? = nil) {
        ownLevel = level
        self.levels = levels
    }

    var logLevel: Logger.Level {
        get { levels?.minimum(ownLevel) ?? ownLevel }
        set { ownLevel = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }
        if let levels, levels.threshold(ownLevel, business: facts["business"].map { "\($0)" }) > event.level {
            return
        }
        let line = Self.line(at: .now(), event.level, "\(event.message)", facts)
        LogStream.standardError.write(Array(line.utf8)) { count in
            Array(Self.line(at: .now(), .warning, "log lines dropped", ["count": "\(count)"]).utf8)
        }
    }

    static func line(
        at: Timestamp, _ level: Logger.Level, _ event: String, _ facts: Logger.Metadata
    ) -> String {
        // The date is omitted, because a person at a terminal reads the line as it appears.
        let time = at.rfc3339.dropFirst("2026-11-21T".count).dropLast()
        let facts = facts.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return terminalText("\(time) \(level.rawValue) \(event)\(facts)") + "\n"
    }
}
