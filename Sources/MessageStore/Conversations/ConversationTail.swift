import BalloonPOSIX

/// The end of a conversation's file.
enum ConversationTail {
    private static let firstStepBytes = 4 << 10

    /// Returns whether the bytes after the complete lines, if any, are the beginning of a line.
    ///
    /// Otherwise they are damage, such as zeros in the place of a block that was not written.
    static func isSound(_ file: File, behind completeBytes: Int) throws(SystemError) -> Bool {
        guard let byte = try file.read(at: completeBytes, count: 1).first else { return true }
        return byte == UInt8(ascii: "{")
    }

    /// Returns the last complete lines of a file, and the size of all complete lines in bytes.
    ///
    /// There are at most `maximum` lines, oldest first, without line feeds and with at most `maximumBytes` in
    /// total. The last complete line is always returned. An unfinished line may follow it. A growing file is
    /// read up to `endBytes`.
    static func lines(
        of file: File, endingAt endBytes: Int? = nil, maximum: Int, maximumBytes: Int = .max
    ) throws(SystemError) -> (lines: [[UInt8]], completeBytes: Int) {
        var start = if let endBytes { endBytes } else { try file.sizeBytes() }
        var bytes: [UInt8] = []
        // The offsets of the line feeds in the file, the last one first.
        var feeds: [Int] = []
        while start > 0, feeds.count <= maximum, feeds.count < 2 || bytes.count <= maximumBytes {
            // Each step doubles the bytes read so far, so that the bytes of a long line are copied only a few
            // times.
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
            // The line before the oldest line feed was read only in part: omit it.
            guard position + 1 < feeds.count || start == 0 else { break }
            let before = position + 1 < feeds.count ? feeds[position + 1] + 1 : 0
            // The first line of a file may be its header.
            if before == 0, ConversationHeader(bytes).sizeBytes > 0 { break }
            if position > 0, last - before > maximumBytes { break }
            lines.append(Array(bytes[before - start..<feed - start]))
        }
        return (lines.reversed(), last + 1)
    }
}
