/// Reads request headers from bytes as they come (RFC 9112): pure, synchronous, and strict.
///
/// Feed it the same bytes whole or in any pieces and it answers the same. One framing only: whatever two parsers
/// could read in two ways is refused, because a proxy in front may be the other one.
struct RequestParser: Sendable {
    private(set) var head = RequestHead()
    private let limits: HTTPLimits

    /// Offset of the line that is being read, and of the first byte in it that has not been looked at.
    private var lineStart = 0
    private var scanned = 0
    private var isInFields = false
    private var headerBytes = 0
    private var seen = SeenFields()

    init(limits: HTTPLimits) { self.limits = limits }

    /// Makes the parser ready for the next request; storage is kept.
    mutating func reset() {
        var fields = head.fields
        fields.removeAll(keepingCapacity: true)
        head = RequestHead()
        head.fields = fields
        lineStart = 0
        scanned = 0
        isInFields = false
        headerBytes = 0
        seen = SeenFields()
    }

    /// Whether any byte of a request has been seen.
    var isAtStart: Bool { scanned == 0 }

    /// Reads on in `bytes[base..<end]`, where `base` is the request's first byte; true when ``head`` is whole.
    mutating func parse(_ bytes: [UInt8], from base: Int, to end: Int) throws(HTTPRefusal) -> Bool {
        while true {
            let start = base + lineStart
            if !isInFields, start < end, bytes[start] != 0x0D, !CharacterClass.token.contains(bytes[start]) {
                throw .malformedRequestLine
            }
            guard let feed = lineFeed(in: bytes, from: base + scanned, to: end) else {
                scanned = end - base
                try checkLength(of: end - start - 1)
                return false
            }
            let length = feed - start - 1
            try checkLength(of: length)
            guard length >= 0, bytes[feed - 1] == 0x0D else { throw .malformedLineEnd }
            scanned = feed + 1 - base
            lineStart = scanned
            if length == 0 {
                if try endOfHeader() { return true }
            } else if isInFields {
                headerBytes += length + 2
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
    private func checkLength(of length: Int) throws(HTTPRefusal) {
        guard isInFields else {
            if length > limits.maximumRequestLineBytes { throw .requestLineTooLong }
            return
        }
        if length > limits.maximumFieldLineBytes || headerBytes + length + 2 > limits.maximumHeaderBytes {
            throw .fieldsTooLarge
        }
    }
}

extension RequestParser {
    private mutating func readRequestLine(
        _ bytes: [UInt8], _ base: Int, _ start: Int, _ end: Int
    ) throws(HTTPRefusal) {
        var cursor = start
        while cursor < end, CharacterClass.token.contains(bytes[cursor]) { cursor += 1 }
        guard cursor > start, cursor < end, bytes[cursor] == 0x20 else { throw .malformedRequestLine }
        let method = bytes[start..<cursor]
        cursor += 1
        let target = cursor
        while cursor < end, bytes[cursor] != 0x20 { cursor += 1 }
        guard cursor > target, cursor < end else { throw .malformedRequestLine }
        let targetEnd = cursor
        head.minorVersion = try readVersion(bytes, cursor + 1, end)
        guard let known = HTTPMethod(method) else { throw .unknownMethod }
        head.method = known
        try readTarget(bytes, base, target, targetEnd)
    }

    /// `HTTP/1.x`; a minor version above 1 is read as 1 (RFC 9110 §6.2).
    private func readVersion(_ bytes: [UInt8], _ start: Int, _ end: Int) throws(HTTPRefusal) -> UInt8 {
        guard end - start == 8, bytes[start..<start + 5].elementsEqual("HTTP/".utf8),
            isDigit(bytes[start + 5]),
            bytes[start + 6] == 0x2E, isDigit(bytes[start + 7])
        else { throw .malformedRequestLine }
        guard bytes[start + 5] == 0x31 else { throw .unsupportedVersion }
        return bytes[start + 7] == 0x30 ? 0 : 1
    }

    /// Origin-form, absolute-form or asterisk-form (RFC 9112 §3.2); authority-form belongs to CONNECT alone.
    private mutating func readTarget(
        _ bytes: [UInt8], _ base: Int, _ start: Int, _ end: Int
    ) throws(HTTPRefusal) {
        if end - start == 1, bytes[start] == 0x2A {
            guard head.method == .options else { throw .malformedTarget }
            head.isAsterisk = true
            head.path = UInt32(start - base)..<UInt32(end - base)
            return
        }
        var cursor = start
        if bytes[start] != 0x2F { cursor = try endOfAuthority(bytes, start, end) }
        let path = cursor
        var query: Int?
        while cursor < end {
            let byte = bytes[cursor]
            if byte == 0x25 {
                guard cursor + 2 < end, isHexDigit(bytes[cursor + 1]), isHexDigit(bytes[cursor + 2]) else {
                    throw .malformedTarget
                }
            } else if byte == 0x3F {
                if query == nil { query = cursor }
            } else if !CharacterClass.target.contains(byte) {
                throw .malformedTarget
            }
            cursor += 1
        }
        head.path = UInt32(path - base)..<UInt32((query ?? end) - base)
        if let query { head.query = UInt32(query + 1 - base)..<UInt32(end - base) }
    }

    /// Skips `http://host:port` of an absolute-form target; what follows is the path, maybe empty.
    private func endOfAuthority(_ bytes: [UInt8], _ start: Int, _ end: Int) throws(HTTPRefusal) -> Int {
        var cursor = start
        for byte in "http".utf8 {
            guard cursor < end, lowercase(bytes[cursor]) == byte else { throw .malformedTarget }
            cursor += 1
        }
        if cursor < end, lowercase(bytes[cursor]) == 0x73 { cursor += 1 }
        for byte in "://".utf8 {
            guard cursor < end, bytes[cursor] == byte else { throw .malformedTarget }
            cursor += 1
        }
        let host = cursor
        while cursor < end, bytes[cursor] != 0x2F, bytes[cursor] != 0x3F { cursor += 1 }
        guard isHost(bytes, host, cursor) else { throw .malformedTarget }
        return cursor
    }
}

/// Which of the fields that decide about framing and the connection have been seen.
private struct SeenFields: Sendable {
    var contentLength: Int?
    var hasHost = false
    var hasTransferEncoding = false
    var isLastCodingChunked = false
    var hasUnknownCoding = false
    var hasClose = false
    var hasKeepAlive = false
}

extension RequestParser {
    private mutating func readField(
        _ bytes: [UInt8], _ base: Int, _ start: Int, _ end: Int
    ) throws(HTTPRefusal) {
        var cursor = start
        while cursor < end, CharacterClass.token.contains(bytes[cursor]) { cursor += 1 }
        // White space here would be a folded line at the start, or a name that another parser trims (RFC 9112 §5.1).
        guard cursor > start, cursor < end, bytes[cursor] == 0x3A else { throw .malformedField }
        let nameEnd = cursor
        cursor += 1
        while cursor < end, bytes[cursor] == 0x20 || bytes[cursor] == 0x09 { cursor += 1 }
        var valueEnd = end
        while valueEnd > cursor, bytes[valueEnd - 1] == 0x20 || bytes[valueEnd - 1] == 0x09 { valueEnd -= 1 }
        var index = cursor
        while index < valueEnd {
            let byte = bytes[index]
            if byte < 0x20 ? byte != 0x09 : byte == 0x7F {
                throw byte == 0x0D ? .malformedLineEnd : .malformedField
            }
            index += 1
        }
        guard head.fields.count < limits.maximumFieldCount else { throw .fieldsTooLarge }
        let field = HTTPField(
            nameStart: UInt32(start - base), nameEnd: UInt32(nameEnd - base),
            valueStart: UInt32(cursor - base),
            valueEnd: UInt32(valueEnd - base))
        head.fields.append(field)
        try note(bytes, start..<nameEnd, cursor, valueEnd)
    }

    /// Looks at the few fields that are the parser's own business; the name's length rules most others out at once.
    private mutating func note(
        _ bytes: [UInt8], _ name: Range<Int>, _ start: Int, _ end: Int
    ) throws(HTTPRefusal) {
        switch name.count {
        case 4 where isName(bytes, name, "host"):
            guard !seen.hasHost, isHost(bytes, start, end) else { throw .badHost }
            seen.hasHost = true
        case 6 where isName(bytes, name, "expect"):
            guard isName(bytes, start..<end, "100-continue") else { throw .unknownExpectation }
            head.expectsContinue = true
        case 10 where isName(bytes, name, "connection"):
            for option in listElements(bytes, start, end) {
                if isName(bytes, option, "close") { seen.hasClose = true }
                if isName(bytes, option, "keep-alive") { seen.hasKeepAlive = true }
            }
        case 14 where isName(bytes, name, "content-length"):
            guard seen.contentLength == nil else { throw .badContentLength }
            seen.contentLength = try readLength(bytes, start, end)
        case 17 where isName(bytes, name, "transfer-encoding"):
            try noteCodings(bytes, start, end)
        default: break
        }
    }

    private mutating func noteCodings(_ bytes: [UInt8], _ start: Int, _ end: Int) throws(HTTPRefusal) {
        let codings = listElements(bytes, start, end)
        if codings.isEmpty { throw .badTransferEncoding }
        seen.hasTransferEncoding = true
        for coding in codings {
            // RFC 9112 §6.1: chunked is applied once, and last.
            if seen.isLastCodingChunked { throw .badTransferEncoding }
            if isName(bytes, coding, "chunked") {
                seen.isLastCodingChunked = true
            } else {
                seen.hasUnknownCoding = true
            }
        }
    }

    /// Digits only, at most 18 of them, which an `Int` holds (RFC 9110 §8.6).
    private func readLength(_ bytes: [UInt8], _ start: Int, _ end: Int) throws(HTTPRefusal) -> Int {
        guard end > start, end - start <= 18 else { throw .badContentLength }
        var length = 0
        for index in start..<end {
            guard isDigit(bytes[index]) else { throw .badContentLength }
            length = length * 10 + Int(bytes[index] - 0x30)
        }
        return length
    }

    private mutating func decideFraming() throws(HTTPRefusal) {
        guard seen.hasHost || head.minorVersion == 0 else { throw .badHost }
        if seen.hasTransferEncoding {
            guard seen.contentLength == nil, head.minorVersion == 1 else { throw .ambiguousFraming }
            guard seen.isLastCodingChunked else { throw .badTransferEncoding }
            guard !seen.hasUnknownCoding else { throw .unknownTransferCoding }
            head.framing = .chunked
        } else if let length = seen.contentLength {
            head.framing = length == 0 ? .none : .length(length)
        } else if head.method.expectsBody {
            throw .lengthMissing
        }
        head.isPersistent = !seen.hasClose && (head.minorVersion == 1 || seen.hasKeepAlive)
        // RFC 9110 §10.1.1: the expectation of an HTTP/1.0 client is ignored.
        if head.minorVersion == 0 { head.expectsContinue = false }
    }
}

@inline(__always)
private func lineFeed(in bytes: [UInt8], from start: Int, to end: Int) -> Int? {
    var index = start
    while index < end {
        if bytes[index] == 0x0A { return index }
        index += 1
    }
    return nil
}

private func isName(_ bytes: [UInt8], _ range: Range<Int>, _ name: StaticString) -> Bool {
    let name = name.description.utf8
    guard range.count == name.count else { return false }
    var index = range.lowerBound
    for byte in name {
        if lowercase(bytes[index]) != byte { return false }
        index += 1
    }
    return true
}

/// The elements of a comma-separated list, trimmed, without empty ones (RFC 9110 §5.6.1).
private func listElements(_ bytes: [UInt8], _ start: Int, _ end: Int) -> [Range<Int>] {
    var elements: [Range<Int>] = []
    var cursor = start
    while cursor < end {
        var stop = cursor
        while stop < end, bytes[stop] != 0x2C { stop += 1 }
        var low = cursor
        var high = stop
        while low < high, bytes[low] == 0x20 || bytes[low] == 0x09 { low += 1 }
        while high > low, bytes[high - 1] == 0x20 || bytes[high - 1] == 0x09 { high -= 1 }
        if low < high { elements.append(low..<high) }
        cursor = stop + 1
    }
    return elements
}

/// `host[:port]` (RFC 9110 §7.2): a name, an IPv4 address or a bracketed literal, and a port of digits.
private func isHost(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
    guard start < end else { return false }
    var cursor = start
    if bytes[start] == 0x5B {
        cursor += 1
        while cursor < end, isHexDigit(bytes[cursor]) || bytes[cursor] == 0x3A || bytes[cursor] == 0x2E {
            cursor += 1
        }
        guard cursor < end, bytes[cursor] == 0x5D, cursor > start + 1 else { return false }
        cursor += 1
    } else {
        while cursor < end, bytes[cursor] != 0x3A {
            let byte = bytes[cursor]
            guard CharacterClass.host.contains(byte), byte != 0x5B, byte != 0x5D else { return false }
            cursor += 1
        }
        guard cursor > start else { return false }
    }
    guard cursor < end else { return true }
    guard bytes[cursor] == 0x3A else { return false }
    return bytes[(cursor + 1)..<end].allSatisfy(isDigit) && end - cursor <= 6
}
