/// A splitter of a byte stream into lines, which buffers at most one line of the maximum length.
package struct LineSplitter: Sendable {
    /// One line of the stream, or the beginning of a line that is too long.
    package enum Piece: Hashable, Sendable {
        /// A complete line without its line feed and without a carriage return before it.
        case line([UInt8])
        /// A line over the length limit, of which only the beginning is kept.
        case tooLong(beginning: [UInt8])
    }

    private let maximumBytes: Int
    private var partial: [UInt8] = []
    private var isSkipping = false

    /// Creates a splitter for lines of at most `maximumBytes`.
    package init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// Appends bytes and returns the lines that they complete.
    package mutating func take(_ bytes: [UInt8]) -> [Piece] {
        var pieces: [Piece] = []
        var rest = bytes[...]
        while let feed = rest.firstIndex(of: UInt8(ascii: "\n")) {
            append(rest[..<feed])
            pieces.append(end())
            rest = rest[(feed + 1)...]
        }
        append(rest)
        return pieces
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>) {
        guard !isSkipping else { return }
        guard partial.count + bytes.count <= maximumBytes else {
            partial.append(contentsOf: bytes.prefix(max(0, 256 - partial.count)))
            partial.removeLast(max(0, partial.count - 256))
            isSkipping = true
            return
        }
        partial.append(contentsOf: bytes)
    }

    private mutating func end() -> Piece {
        defer {
            partial = []
            isSkipping = false
        }
        if isSkipping { return .tooLong(beginning: partial) }
        if partial.last == UInt8(ascii: "\r") { partial.removeLast() }
        return .line(partial)
    }
}
