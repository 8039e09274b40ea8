import BalloonJSON
import BalloonPOSIX
import Logging

/// A log line that is one JSON object.
///
/// `{"at":"2026-11-21T10:00:00.123Z","level":"info","event":"message accepted", …}`. The metadata follow as
/// members, each cut to 4 KiB; a metadata name `at`, `level` or `event` gets an underscore appended. For systemd's journal a
/// line begins with its priority, such as `<4>`.
package enum JSONLogLine {
    /// The maximum bytes of one value in a line; the lines that a program writes have at most as many.
    static let maximumValueBytes = 4 << 10

    /// The form of the lines for a ``LineLogHandler``.
    package static func form(isJournal: Bool) -> LineLogHandler.Form {
        guard isJournal else { return bytes }
        return { at, level, event, facts in
            Array(level.journalPriority.utf8) + bytes(at: at, level, event, facts)
        }
    }

    @Sendable static func bytes(
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
