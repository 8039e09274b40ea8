/// An incremental decoder of a chunked body (RFC 9112 §7.1), without I/O and with limits on every length.
struct ChunkedDecoder: Sendable {
    private enum State: Sendable {
        case size(Int, digits: Int)
        case chunkExtension(Int, ChunkExtension)
        case sizeLineFeed(Int)
        case content(Int)
        case contentCarriageReturn
        case contentLineFeed
        case trailer
        case trailerLineFeed
        case finished
    }

    private var state = State.size(0, digits: 0)
    /// The bytes of chunk extensions and trailers so far, at most `maximumOverheadBytes`; their content is
    /// ignored.
    private var overheadBytes = 0
    /// The current trailer line.
    private var trailer: [UInt8] = []
    static let maximumOverheadBytes = 16384

    /// Whether the last chunk and its trailer have been read.
    var isFinished: Bool { if case .finished = state { true } else { false } }

    /// Decodes `bytes[cursor..<end]` and appends content to `body`; stops at the end of the body.
    mutating func decode(
        _ bytes: [UInt8], _ cursor: inout Int, to end: Int, into body: inout [UInt8], maximumBytes: Int
    ) throws(HTTPRefusal) {
        while cursor < end {
            if case .content(let left) = state {
                let count = min(left, end - cursor)
                body.append(contentsOf: bytes[cursor..<cursor + count])
                cursor += count
                state = count == left ? .contentCarriageReturn : .content(left - count)
                continue
            }
            if isFinished { return }
            try take(bytes[cursor], maximumBytes - body.count)
            cursor += 1
        }
    }

    private mutating func take(_ byte: UInt8, _ room: Int) throws(HTTPRefusal) {
        switch state {
        case .size(let size, let digits):
            try takeSize(byte, size, digits, room)
        case .chunkExtension(let size, var chunkExtension):
            try countOverhead()
            if try chunkExtension.take(byte) {
                state = .chunkExtension(size, chunkExtension)
            } else {
                try startChunk(size, room)
            }
        case .sizeLineFeed(let size):
            guard byte == 0x0A else { throw .malformedChunk }
            state = size == 0 ? .trailer : .content(size)
        case .content, .finished: break
        case .contentCarriageReturn:
            guard byte == 0x0D else { throw .malformedChunk }
            state = .contentLineFeed
        case .contentLineFeed:
            guard byte == 0x0A else { throw .malformedChunk }
            state = .size(0, digits: 0)
        case .trailer:
            if byte == 0x0D {
                state = .trailerLineFeed
            } else {
                guard byte != 0x0A else { throw .malformedChunk }
                try countOverhead()
                trailer.append(byte)
            }
        case .trailerLineFeed:
            guard byte == 0x0A else { throw .malformedChunk }
            try endTrailerLine()
        }
    }

    private mutating func takeSize(
        _ byte: UInt8, _ size: Int, _ digits: Int, _ room: Int
    ) throws(HTTPRefusal) {
        if let digit = hexValue(byte) {
            // Sixteen digits hold any 64-bit length. The size is capped at 2^48 before each shift, so that it
            // cannot overflow; a capped size still exceeds every limit.
            guard digits < 16 else { throw .malformedChunk }
            state = .size(min(size, 1 << 48) << 4 | Int(digit), digits: digits + 1)
            return
        }
        guard digits > 0 else { throw .malformedChunk }
        switch byte {
        case 0x0D: try startChunk(size, room)
        case 0x3B: state = .chunkExtension(size, ChunkExtension())
        default: throw .malformedChunk
        }
    }

    private mutating func startChunk(_ size: Int, _ room: Int) throws(HTTPRefusal) {
        guard size <= room else { throw .bodyTooLarge }
        state = .sizeLineFeed(size)
    }

    /// Checks a complete trailer line; an empty line ends the body.
    ///
    /// The trailers themselves are dropped (RFC 9110 §6.5.1).
    private mutating func endTrailerLine() throws(HTTPRefusal) {
        if trailer.isEmpty {
            state = .finished
            return
        }
        do throws(HTTPRefusal) {
            let (nameEnd, _) = try fieldLine(trailer, 0, trailer.count)
            if forbiddenTrailers.contains(where: { isName(trailer, 0..<nameEnd, $0) }) {
                throw .malformedChunk
            }
        } catch {
            throw .malformedChunk
        }
        trailer.removeAll(keepingCapacity: true)
        state = .trailer
    }

    private mutating func countOverhead() throws(HTTPRefusal) {
        overheadBytes += 1
        if overheadBytes > Self.maximumOverheadBytes { throw .malformedChunk }
    }
}

/// Fields about framing, routing, authentication or content, which a trailer must not contain (RFC 9110
/// §6.5.1).
///
/// A server that merges such a trailer into the header would interpret the request differently.
private let forbiddenTrailers = [
    "transfer-encoding", "content-length", "host", "connection", "te", "trailer", "upgrade", "expect",
    "max-forwards", "range", "cache-control", "authorization", "proxy-authorization", "cookie",
    "content-encoding", "content-type", "content-range",
]

/// Chunk extensions (RFC 9112 §7.1.1): `;name`, `;name=token` or `;name="text"`; all are ignored.
///
/// White space around them is refused: the RFC calls it "bad", and parsers treat it differently.
private struct ChunkExtension: Sendable {
    private enum State: Sendable {
        case nameStart, name, valueStart, value, quoted, escaped, end
    }

    private var state = State.nameStart

    /// Consumes a byte; returns false for the CR that ends the line.
    mutating func take(_ byte: UInt8) throws(HTTPRefusal) -> Bool {
        switch (state, byte) {
        case (.name, 0x0D), (.value, 0x0D), (.end, 0x0D): return false
        case (.name, 0x3B), (.value, 0x3B), (.end, 0x3B): state = .nameStart
        case (.name, 0x3D): state = .valueStart
        case (.valueStart, 0x22): state = .quoted
        case (.quoted, 0x22): state = .end
        case (.quoted, 0x5C): state = .escaped
        case (.quoted, _), (.escaped, _):
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { throw .malformedChunk }
            state = .quoted
        case (.nameStart, _), (.name, _):
            guard CharacterClass.token.contains(byte) else { throw .malformedChunk }
            state = .name
        case (.valueStart, _), (.value, _):
            guard CharacterClass.token.contains(byte) else { throw .malformedChunk }
            state = .value
        case (.end, _): throw .malformedChunk
        }
        return true
    }
}
