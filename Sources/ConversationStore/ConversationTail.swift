import BalloonPOSIX

/// The end of a conversation's file.
enum ConversationTail {
    private static let firstStepBytes = 4 << 10

    /// The last complete lines of a file, at most `maximum`, oldest first and without line feeds, and how
    /// many bytes the complete lines of the file have; what stands behind them is an unfinished line.
    static func lines(
        of file: File, maximum: Int
    ) throws(SystemError) -> (lines: [[UInt8]], completeBytes: Int) {
        var start = try file.sizeBytes()
        var bytes: [UInt8] = []
        // Their places in the file, the last one first.
        var feeds: [Int] = []
        while start > 0, feeds.count <= maximum {
            // Longer and longer steps, so that a long line is not moved many times over.
            let step = min(start, max(firstStepBytes, bytes.count))
            var chunk = try file.read(at: start - step, count: step)
            guard chunk.count == step else { return ([], 0) }
            start -= step
            var end = step
            while feeds.count <= maximum, let feed = chunk.lastPosition(of: UInt8(ascii: "\n"), before: end) {
                feeds.append(start + feed)
                end = feed
            }
            chunk.append(contentsOf: bytes)
            bytes = chunk
        }
        guard let last = feeds.first else { return ([], 0) }
        var lines: [[UInt8]] = []
        for (position, feed) in feeds.enumerated().prefix(maximum) {
            let before = position + 1 < feeds.count ? feeds[position + 1] + 1 : 0
            lines.append(Array(bytes[before - start..<feed - start]))
        }
        return (lines.reversed(), last + 1)
    }
}
