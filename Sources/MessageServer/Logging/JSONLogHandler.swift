import BalloonJSON
import BalloonPOSIX
package import Logging

/// Writes log lines to standard error, each one JSON object.
///
/// `{"at":"2026-11-21T10:00:00.123Z","level":"info","event":"message accepted", …}`. The metadata follow as
/// members, each cut to 4 KiB; a metadata name `at`, `level` or `event` gets an underscore appended. For systemd's journal a
/// line begins with its priority, such as `<4>`.
package struct JSONLogHandler: LogHandler {
    /// The metadata of every line.
    package var metadata: Logger.Metadata = [:]
    private var ownLevel: Logger.Level
    private let levels: LogLevels?
    private let isJournal: Bool

    /// Creates a handler with this minimum level, which `levels` may change.
    package init(level: Logger.Level, levels: LogLevels? = nil, isJournal: Bool = false) {
        ownLevel = level
        self.levels = levels
        self.isJournal = isJournal
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
        let prefix = isJournal ? Array(event.level.journalPriority.utf8) : []
        LogStream.standardError.write(
            prefix + Self.line(at: .now(), event.level, "\(event.message)", facts),
            isUrgent: event.level >= .warning,
            describeDropped: isJournal ? Self.droppedInJournal : Self.dropped)
    }

    /// The maximum bytes of one value in a line; the lines that a program writes have at most as many.
    static let maximumValueBytes = 4 << 10

    static func dropped(_ count: Int) -> [UInt8] {
        line(at: .now(), .warning, "log lines dropped", ["count": "\(count)"])
    }

    static func droppedInJournal(_ count: Int) -> [UInt8] {
        Array(Logger.Level.warning.journalPriority.utf8) + dropped(count)
    }

    static func line(
        at: Timestamp, _ level: Logger.Level, _ event: String, _ facts: Logger.Metadata
    ) -> [UInt8] {
        let json = JSONWriter.object(reservingCapacity: 256) { writer in
            writer.fields(["at": at.rfc3339, "level": level.rawValue, "event": event])
            for (name, value) in facts.sorted(by: { $0.key < $1.key }) {
                writer.key(["at", "level", "event"].contains(name) ? name + "_" : name)
                write(value, to: &writer)
            }
        }
        var line = json
        line.append(UInt8(ascii: "\n"))
        return line
    }

    private static func write(_ value: Logger.Metadata.Value, to writer: inout JSONWriter) {
        switch value {
        case .string(let text): writer.string(text.shortened(toBytes: maximumValueBytes))
        case .stringConvertible(let value): writer.string("\(value)".shortened(toBytes: maximumValueBytes))
        case .array(let values):
            writer.array { writer in
                for value in values { write(value, to: &writer) }
            }
        case .dictionary(let facts):
            writer.object { writer in
                for (name, value) in facts.sorted(by: { $0.key < $1.key }) {
                    writer.key(name)
                    write(value, to: &writer)
                }
            }
        }
    }
}
