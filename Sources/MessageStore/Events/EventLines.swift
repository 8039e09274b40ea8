import BalloonPOSIX
import BusinessMessages

/// Finds lines in the files of conversations, without a lock and while the server writes them.
struct EventLines: Sendable {
    /// The folder of all conversations.
    let directory: String

    /// The bytes that are read of one file, from its end.
    private static let maximumBytes = 64 << 20

    /// The lines of one conversation that exist; reads the file from its end in parts of about a megabyte.
    ///
    /// The lines of a missing, damaged or unreadable file are not found.
    func find(_ wanted: Set<LineIdentity>, in conversation: ConversationKey) -> [LineIdentity: FoundLine] {
        let path = directory + "/" + ConversationPath.file(conversation)
        var missing = wanted
        var found: [LineIdentity: FoundLine] = [:]
        // A file that cannot be read has no lines for an event: the commands for operators report it.
        guard let file = try? File(path, for: .reading), var end = try? file.sizeBytes() else { return [:] }
        let limit = max(0, end - Self.maximumBytes)
        while end > limit, !missing.isEmpty {
            guard
                let part = try? ConversationTail.lines(
                    of: file, endingAt: end, maximum: .max, maximumBytes: 1 << 20)
            else { return found }
            for text in part.lines.reversed() {
                guard let record = Self.record(of: text), missing.contains(where: { $0.record == record }),
                    let line = ConversationLine(text), missing.remove(line.identity) != nil
                else { continue }
                found[line.identity] = FoundLine(
                    sequence: line.sequence, at: line.at, id: line.id, kind: line.kind, text: text[...])
            }
            let read = part.lines.reduce(0) { $0 + $1.count + 1 }
            if read == 0 { return found }
            end = part.completeBytes - read
        }
        return found
    }

    /// The record in a line, without a JSON index where the line has the usual form.
    private static func record(of text: [UInt8]) -> UInt64? {
        var scanner = RecordScanner(text[...], from: 0)
        if text.starts(with: lineStart), let comma = text.firstIndex(of: UInt8(ascii: ",")) {
            scanner = RecordScanner(text[...], from: comma)
            while let name = scanner.nextName(), let value = scanner.value() {
                if case .number(let record) = value, scanner.name(name, is: recordName) { return record }
            }
        }
        return ConversationLine(text)?.record
    }

    private static let lineStart = Array("{\"seq\":".utf8)
    private static let recordName = Array("record".utf8)
}
