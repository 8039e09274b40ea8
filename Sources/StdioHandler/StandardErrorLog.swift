import BalloonPOSIX
import Logging

/// A log handler that writes to standard error; each line begins with its level, which the server parses.
struct StandardErrorLog: LogHandler {
    var logLevel = Logger.Level.debug
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        let facts = all.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        let line = "\(event.message)\(facts)".split(whereSeparator: \.isNewline).joined(separator: " ")
        StandardStream.error.write("[\(event.level.rawValue)] \(line)\n")
    }
}
