/// An incremental and strict parser of request headers (RFC 9112), without I/O.
///
/// The result does not depend on how the input is split into reads. Input that two parsers could interpret
/// differently is refused, because a proxy in front of the server may be the other parser.
struct RequestParser: Sendable {
    var head = RequestHead()
    var seen = SeenFields()

    /// The offset of the current line, and the offset of its first byte that was not searched for a line end.
    private var lineStart = 0
    private var scanned = 0
    private var isInFields = false
    private var headerBytes = 0

    /// Prepares the parser for the next request; keeps its storage.
    mutating func reset() {
        head.reset()
        seen = SeenFields()
        lineStart = 0
        scanned = 0
        isInFields = false
        headerBytes = 0
    }

    /// Whether the parser has read nothing of a request, except empty lines before the request line.
    var isAtStart: Bool { !isInFields && scanned == lineStart }

    /// Parses `bytes[base..<end]`, where `base` is the request's first byte; returns true when ``head`` is
    /// complete.
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
                // The last byte may be the CR of the line end, so do not count it.
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

    /// Handles an empty line; returns true when it ends the header.
    ///
    /// Up to two empty lines may precede a request line (RFC 9112 §2.2).
    private mutating func endOfHeader() throws(HTTPRefusal) -> Bool {
        guard isInFields else {
            guard scanned <= 4 else { throw .malformedRequestLine }
            return false
        }
        head.length = scanned
        try decideFraming()
        return true
    }

    /// Refuses a line that exceeds its limit, even before its end arrives; `length` excludes the line end.
    private func checkLength(of length: Int, _ limits: HTTPLimits) throws(HTTPRefusal) {
        guard isInFields else {
            if length > limits.maximumRequestLineBytes { throw .requestLineTooLong }
            return
        }
        if length > limits.maximumFieldLineBytes { throw .fieldsTooLarge }
        // The empty line is not a field.
        if length > 0, headerBytes + length + 2 > limits.maximumHeaderBytes { throw .fieldsTooLarge }
    }
}
