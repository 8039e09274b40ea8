import BalloonPOSIX

/// The end of a conversation's file.
enum ConversationTail {
    private static let chunkBytes = 16 << 10

    /// The last complete lines of a file, at most `maximum`, oldest first and without line feeds, and how
    /// many bytes the complete lines of the file have; what stands behind them is an unfinished line.
    static func lines(of file: File, maximum: Int) throws(SystemError) -> (
        lines: [[UInt8]], completeBytes: Int
    ) {
        let size = try file.sizeBytes()
        var start = size
        var bytes: [UInt8] = []
        var feeds = 0
        while start > 0, feeds <= maximum {
            // Longer and longer steps, so that a long line is not read many times over.
            let step = min(start, max(chunkBytes, bytes.count))
            let chunk = try file.read(at: start - step, count: step)
            guard chunk.count == step else { return ([], 0) }
            feeds += chunk.count { $0 == UInt8(ascii: "\n") }
            bytes.insert(contentsOf: chunk, at: 0)
            start -= step
        }
        guard let lastFeed = bytes.lastIndex(of: UInt8(ascii: "\n")) else { return ([], 0) }
        let complete = bytes[..<lastFeed].split(
            separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // The first piece is a whole line only when it begins the file.
        let whole = start == 0 ? complete[...] : complete.dropFirst()
        return (whole.suffix(maximum).map(Array.init), start + lastFeed + 1)
    }
}
