/// Reads request headers from bytes as they come (RFC 9112): pure, synchronous, and strict.
///
/// Feed it the same bytes whole or in any pieces and it answers the same. One framing only: whatever two parsers
/// could read in two ways is refused, because a proxy in front may be the other one.
struct RequestParser: Sendable {
    var head = RequestHead()
    var seen = SeenFields()

    /// Offset of the line that is being read, and of the first byte in it that has not been looked at.
    private var lineStart = 0
    private var scanned = 0
    private var isInFields = false
    private var headerBytes = 0

    /// Makes the parser ready for the next request; storage is kept.
    mutating func reset() {
        head.reset()
        seen = SeenFields()
        lineStart = 0
        scanned = 0
        isInFields = false
        headerBytes = 0
    }

    /// Whether nothing of a request has been seen, but for the empty lines that may come before one.
    var isAtStart: Bool { !isInFields && scanned == lineStart }

    /// Reads on in `bytes[base..<end]`, where `base` is the request's first byte; true when ``head`` is whole.
    mutating func parse(
        _ bytes: [UInt8], from base: Int, to end: Int, _ limits: HTTPLimits
    ) throws(HTTPRefusal) -> Bool {
        while true {
            let start = base + lineStart
            if !isInFields, start < end, bytes[start] != 0x0D, !CharacterClass.token.contains(bytes[start]) {
                throw .malformedRequestLine
            }
            guard let feed = lineFeed(in: bytes, from: base + scanned, to: end) else {
                scanned = end - base
                // The last byte may be the CR that ends the line.
                try checkLength(of: end - start - 1, limits)
                return false
            }
            let length = feed - start - 1
            try checkLength(of: length, limits)
            guard length >= 0, bytes[feed - 1] == 0x0D else { throw .malformedLineEnd }
            scanned = feed + 1 - base
            lineStart = scanned
            if length == 0 {
                if try endOfHeader() { return true }
            } else if isInFields {
                headerBytes += length + 2
                guard head.fields.count < limits.maximumFieldCount else { throw .fieldsTooLarge }
                try readField(bytes, base, start, feed - 1)
            } else {
                try readRequestLine(bytes, base, start, feed - 1)
                isInFields = true
            }
        }
    }

    /// An empty line: the end of the header, or one of the two that may come before a request line (RFC 9112 §2.2).
    private mutating func endOfHeader() throws(HTTPRefusal) -> Bool {
        guard isInFields else {
            guard scanned <= 4 else { throw .malformedRequestLine }
            return false
        }
        head.length = scanned
        try decideFraming()
        return true
    }

    /// Refuses a line, or what there is of it, that is longer than its limit; `length` is without the line's end.
    private func checkLength(of length: Int, _ limits: HTTPLimits) throws(HTTPRefusal) {
        guard isInFields else {
            if length > limits.maximumRequestLineBytes { throw .requestLineTooLong }
            return
        }
        if length > limits.maximumFieldLineBytes { throw .fieldsTooLarge }
        // The empty line is none of the fields.
        if length > 0, headerBytes + length + 2 > limits.maximumHeaderBytes { throw .fieldsTooLarge }
    }
}
