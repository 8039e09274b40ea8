/// The fields about framing and the connection that were parsed so far.
struct SeenFields: Sendable {
    var contentLength: Int?
    var hasHost = false
    var coding = TransferCoding.none
    var hasClose = false
    var hasKeepAlive = false

    enum TransferCoding: Sendable {
        case none, chunked, unknown
    }
}

extension RequestParser {
    /// Reads the field line `name ":" OWS value OWS` (RFC 9112 §5) in `bytes[start..<end]`.
    mutating func readField(
        _ bytes: [UInt8], _ base: Int, _ start: Int, _ end: Int
    ) throws(HTTPRefusal) {
        let (nameEnd, value) = try fieldLine(bytes, start, end)
        head.fields.append(
            HTTPField(
                nameStart: UInt32(start - base), nameEnd: UInt32(nameEnd - base),
                valueStart: UInt32(value.lowerBound - base), valueEnd: UInt32(value.upperBound - base)))
        try readField(bytes, start..<nameEnd, value)
    }

    /// Reads the value if the parser itself needs the field, and ignores all other fields.
    ///
    /// The length of the name is compared first, because that is fast.
    private mutating func readField(
        _ bytes: [UInt8], _ name: Range<Int>, _ value: Range<Int>
    ) throws(HTTPRefusal) {
        switch name.count {
        case 4 where isName(bytes, name, "host"):
            guard !seen.hasHost, isHost(bytes, value.lowerBound, value.upperBound) else { throw .badHost }
            seen.hasHost = true
        case 6 where isName(bytes, name, "expect"):
            guard isName(bytes, value, "100-continue") else { throw .unknownExpectation }
            head.expectsContinue = true
        case 10 where isName(bytes, name, "connection"):
            try readConnection(bytes, value)
        case 14 where isName(bytes, name, "content-length"):
            guard seen.contentLength == nil else { throw .badContentLength }
            seen.contentLength = try readLength(bytes, value)
        case 17 where isName(bytes, name, "transfer-encoding"):
            try readCoding(bytes, value)
        default: break
        }
    }

    /// Reads `Connection`, a list of tokens (RFC 9110 §7.6.1), of which only `close` and `keep-alive` matter.
    private mutating func readConnection(_ bytes: [UInt8], _ value: Range<Int>) throws(HTTPRefusal) {
        var cursor = value.lowerBound
        while cursor < value.upperBound {
            var stop = cursor
            while stop < value.upperBound, bytes[stop] != 0x2C { stop += 1 }
            let option = trimmed(bytes, cursor..<stop)
            for index in option where !CharacterClass.token.contains(bytes[index]) { throw .malformedField }
            if isName(bytes, option, "close") { seen.hasClose = true }
            if isName(bytes, option, "keep-alive") { seen.hasKeepAlive = true }
            cursor = stop + 1
        }
    }

    /// Reads `Transfer-Encoding`, which must be exactly `chunked` and occur once.
    ///
    /// Proxies interpret other spellings differently (RFC 9112 §6.1).
    private mutating func readCoding(_ bytes: [UInt8], _ value: Range<Int>) throws(HTTPRefusal) {
        guard case .none = seen.coding else { throw .badTransferEncoding }
        if isName(bytes, value, "chunked") {
            seen.coding = .chunked
        } else if endsInChunked(bytes, value) {
            // RFC 9112 §6.1: the body's end is known, but the coding before `chunked` cannot be decoded.
            seen.coding = .unknown
        } else {
            throw .badTransferEncoding
        }
    }

    /// Whether the value is a list of tokens with `chunked` as its last element only.
    private func endsInChunked(_ bytes: [UInt8], _ value: Range<Int>) -> Bool {
        var cursor = value.lowerBound
        while true {
            var stop = cursor
            while stop < value.upperBound, bytes[stop] != 0x2C { stop += 1 }
            let coding = trimmed(bytes, cursor..<stop)
            let isLast = stop == value.upperBound
            guard isName(bytes, coding, "chunked") == isLast, !coding.isEmpty else { return false }
            for index in coding where !CharacterClass.token.contains(bytes[index]) { return false }
            if isLast { return true }
            cursor = stop + 1
        }
    }

    /// Parses a length of digits only (RFC 9110 §8.6); at most 18 digits, which fit into an `Int`.
    private func readLength(_ bytes: [UInt8], _ value: Range<Int>) throws(HTTPRefusal) -> Int {
        guard !value.isEmpty, value.count <= 18 else { throw .badContentLength }
        var length = 0
        for index in value {
            guard isDigit(bytes[index]) else { throw .badContentLength }
            length = length * 10 + Int(bytes[index] - 0x30)
        }
        return length
    }

    /// Decides how the body ends and whether the connection persists, after all fields are parsed (RFC 9112
    /// §6.3, §9.3).
    mutating func decideFraming() throws(HTTPRefusal) {
        guard seen.hasHost || head.minorVersion == 0 else { throw .badHost }
        switch seen.coding {
        case .none:
            // RFC 9112 §6.3 (7): a request without a length has an empty body, whatever its method.
            let length = seen.contentLength ?? 0
            head.framing = length == 0 ? .none : .length(length)
        case .chunked:
            guard seen.contentLength == nil, head.minorVersion == 1 else { throw .ambiguousFraming }
            head.framing = .chunked
        case .unknown:
            guard seen.contentLength == nil, head.minorVersion == 1 else { throw .ambiguousFraming }
            throw .unknownTransferCoding
        }
        head.isPersistent = !seen.hasClose && (head.minorVersion == 1 || seen.hasKeepAlive)
        // RFC 9110 §10.1.1: the expectation of an HTTP/1.0 client is ignored.
        if head.minorVersion == 0 { head.expectsContinue = false }
    }
}
