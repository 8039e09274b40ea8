import BalloonPOSIX

/// Decides which of a conversation's oldest lines are removed, from the file's content.
///
/// A line is due when it is older than the limit and the journal no longer has its record. No recovery
/// expects such a line. Due lines are removed once all or a tenth of the lines are due, or the oldest has
/// been due for 30 days. A file is therefore not rewritten every night.
struct ConversationTrim: Hashable, Sendable {
    /// The number of lines that are removed.
    let removedLines: Int
    /// Whether all lines are removed; the caller then removes the file.
    let isWhole: Bool
    /// The offset of the first kept line in the old file.
    let keptFrom: Int
    /// The header of the new file.
    let header: [UInt8]
    /// The number of lines that are left.
    let keptLines: Int
    /// The number of the first kept line.
    let from: Int

    private static let patience = Duration.seconds(30 * 86_400)

    /// Creates the decision; nil when no line is removed, or a line that might be due is damaged.
    init?(_ content: [UInt8], olderThan limit: Timestamp, before record: UInt64) {
        let header = ConversationHeader(content)
        var (position, due) = (header.sizeBytes, 0)
        var oldest: Timestamp?
        while let feed = content.firstPosition(of: UInt8(ascii: "\n"), from: position) {
            guard let line = ConversationLine(Array(content[position..<feed])) else { return nil }
            guard line.at < limit, line.record < record else { break }
            oldest = min(oldest ?? line.at, line.at)
            due += 1
            position = feed + 1
        }
        guard let oldest else { return nil }
        keptLines = content[position...].count { $0 == UInt8(ascii: "\n") }
        let isWorthwhile =
            keptLines == 0 || due * 10 >= due + keptLines
            || oldest < limit.advanced(by: .zero - Self.patience)
        guard isWorthwhile else { return nil }
        removedLines = due
        isWhole = keptLines == 0
        keptFrom = position
        from = header.from + due
        self.header = ConversationHeader.bytes(from: from)
    }
}
