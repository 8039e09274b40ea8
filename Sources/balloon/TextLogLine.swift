import BalloonPOSIX
import Logging

/// A log line for a person at a terminal: `10:00:00.123 info message accepted kind=text`.
@Sendable func textLogLine(
    at: Timestamp, _ level: Logger.Level, _ event: String, _ facts: Logger.Metadata
) -> [UInt8] {
    // The date is omitted, because a person at a terminal reads the line as it appears.
    let time = at.rfc3339.dropFirst("2026-11-21T".count).dropLast()
    let facts = facts.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    return Array((terminalText("\(time) \(level.rawValue) \(event)\(facts)") + "\n").utf8)
}
