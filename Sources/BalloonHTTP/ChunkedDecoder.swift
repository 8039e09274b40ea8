/// Takes the chunked coding off a body as it comes (RFC 9112 §7.1): pure, synchronous, bounded.
struct ChunkedDecoder: Sendable {
    private enum State: Sendable {
        case sizeStart
        case size(Int)
        case extensions(Int)
        case sizeLineFeed(Int)
        case content(Int)
        case contentCarriageReturn
        case contentLineFeed
        case trailerStart
        case trailer
        case trailerLineFeed
        case endLineFeed
        case finished
    }

    private var state = State.sizeStart
    /// Bytes of chunk extensions and trailers so far: they are skipped, but not without bound.
    private var overhead = 0
    private let maximumOverheadBytes = 16384

    /// Whether the last chunk and its trailer have been read.
    var isFinished: Bool { if case .finished = state { true } else { false } }

    /// Reads on in `bytes[cursor..<end]` and appends content to `body`; stops at the body's end.
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
            try take(bytes[cursor], body.count, maximumBytes)
            cursor += 1
        }
    }

    private mutating func take(_ byte: UInt8, _ decoded: Int, _ maximumBytes: Int) throws(HTTPRefusal) {
        switch state {
        case .sizeStart:
            guard let digit = hexValue(byte) else { throw .malformedChunk }
            state = .size(digit)
        case .size(let size):
            if let digit = hexValue(byte) {
                // 2^40 is far over every limit and far from overflow.
                guard size < 1 << 40 else { throw .bodyTooLarge }
                state = .size(size << 4 | digit)
            } else if byte == 0x0D {
                try startChunk(size, decoded, maximumBytes)
            } else if byte == 0x3B {
                state = .extensions(size)
            } else {
                throw .malformedChunk
            }
        case .extensions(let size):
            try countOverhead()
            if byte == 0x0D {
                try startChunk(size, decoded, maximumBytes)
            } else if byte < 0x20 && byte != 0x09 || byte == 0x7F {
                throw .malformedChunk
            }
        case .sizeLineFeed(let size):
            guard byte == 0x0A else { throw .malformedChunk }
            state = size == 0 ? .trailerStart : .content(size)
        case .content, .finished: break
        case .contentCarriageReturn:
            guard byte == 0x0D else { throw .malformedChunk }
            state = .contentLineFeed
        case .contentLineFeed:
            guard byte == 0x0A else { throw .malformedChunk }
            state = .sizeStart
        case .trailerStart:
            if byte == 0x0D {
                state = .endLineFeed
            } else {
                guard CharacterClass.token.contains(byte) else { throw .malformedChunk }
                state = .trailer
                try countOverhead()
            }
        case .trailer:
            try countOverhead()
            if byte == 0x0D {
                state = .trailerLineFeed
            } else if byte < 0x20 && byte != 0x09 || byte == 0x7F {
                throw .malformedChunk
            }
        case .trailerLineFeed:
            guard byte == 0x0A else { throw .malformedChunk }
            state = .trailerStart
        case .endLineFeed:
            guard byte == 0x0A else { throw .malformedChunk }
            state = .finished
        }
    }

    private mutating func startChunk(
        _ size: Int, _ decoded: Int, _ maximumBytes: Int
    ) throws(HTTPRefusal) {
        guard size <= maximumBytes - decoded else { throw .bodyTooLarge }
        state = .sizeLineFeed(size)
    }

    private mutating func countOverhead() throws(HTTPRefusal) {
        overhead += 1
        if overhead > maximumOverheadBytes { throw .malformedChunk }
    }
}

private func hexValue(_ byte: UInt8) -> Int? {
    if isDigit(byte) { return Int(byte - 0x30) }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? Int(letter) + 10 : nil
}
