import BalloonJSON
import BalloonPOSIX
import BusinessMessages
package import Logging

/// Writes stage events to standard error, in the form of ``LogObserver`` and ``JSONLogLine``.
///
/// Every message causes at least two lines, so they are written without the dictionary and strings of a log record.
package struct JSONStageLog: StageObserver {
    private let level: Logger.Level
    private let levels: LogLevels?
    private let isJournal: Bool
    private let stream: LogStream

    /// Creates an observer with this minimum level, which `levels` may change.
    package init(
        level: Logger.Level, levels: LogLevels? = nil, isJournal: Bool = false,
        stream: LogStream = .standardError
    ) {
        self.level = level
        self.levels = levels
        self.isJournal = isJournal
        self.stream = stream
    }

    /// Writes `event`, if its level is high enough.
    package func observe(_ event: StageEvent) {
        let level = LogObserver.level(of: event)
        let minimum = levels?.threshold(self.level, business: event.business?.rawValue) ?? self.level
        guard minimum <= level else { return }
        stream.write(
            Self.line(event, level, at: .now(), isJournal: isJournal), isUrgent: level >= .warning,
            describeDropped: { LineLogHandler.dropped($0, JSONLogLine.form(isJournal: isJournal)) })
    }

    static func line(
        _ event: StageEvent, _ level: Logger.Level, at: Timestamp, isJournal: Bool
    ) -> [UInt8] {
        var line = isJournal ? Array(level.journalPriority.utf8) : []
        // Most lines are shorter.
        line.reserveCapacity(512)
        var writer = JSONWriter(appendingTo: consume line)
        writer.object { writer in
            writer.quote("at") { at.append(to: &$0) }
            writer.field("level", level.rawValue)
            writer.field("event", LogObserver.text(for: event))
            event.forEachFact { writer.field($0, $1?.shortened(toBytes: JSONLogLine.maximumValueBytes)) }
            if let trace = event.trace { writer.quote("trace_id") { trace.append(to: &$0) } }
            writer.field("us", String(event.nanoseconds / 1000))
        }
        line = (consume writer).finish()
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

extension JSONWriter {
    /// Writes a member whose text `append` writes, without characters that JSON escapes.
    fileprivate mutating func quote(_ name: String, _ append: (inout [UInt8]) -> Void) {
        key(name)
        raw {
            $0.append(UInt8(ascii: "\""))
            append(&$0)
            $0.append(UInt8(ascii: "\""))
        }
    }
}
