extension RequestParser {
    /// Reads the request line `method SP target SP version` (RFC 9112 §3) in `bytes[start..<end]`.
    mutating func readRequestLine(
        _ bytes: [UInt8], _ base: Int, _ start: Int, _ end: Int
    ) throws(HTTPRefusal) {
        var cursor = start
        while cursor < end, CharacterClass.token.contains(bytes[cursor]) { cursor += 1 }
        guard cursor > start, cursor < end, bytes[cursor] == 0x20 else { throw .malformedRequestLine }
        let methodEnd = cursor
        cursor += 1
        let target = cursor
        while cursor < end, bytes[cursor] != 0x20 { cursor += 1 }
        guard cursor > target, cursor < end else { throw .malformedRequestLine }
        head.minorVersion = try readVersion(bytes, cursor + 1, end)
        guard let method = HTTPMethod(bytes, start, methodEnd) else { throw .unknownMethod }
        head.method = method
        try readTarget(bytes, base, target, cursor)
    }

    /// Reads `HTTP/1.x` and returns `x`; a minor version above 1 is treated as 1 (RFC 9110 §2.5).
    private func readVersion(_ bytes: [UInt8], _ start: Int, _ end: Int) throws(HTTPRefusal) -> UInt8 {
        guard end - start == 8, bytes[start] == 0x48, bytes[start + 1] == 0x54, bytes[start + 2] == 0x54,
            bytes[start + 3] == 0x50, bytes[start + 4] == 0x2F, isDigit(bytes[start + 5]),
            bytes[start + 6] == 0x2E, isDigit(bytes[start + 7])
        else { throw .malformedRequestLine }
        guard bytes[start + 5] == 0x31 else { throw .unsupportedVersion }
        return bytes[start + 7] == 0x30 ? 0 : 1
    }

    /// Reads a target in origin-form, absolute-form or asterisk-form (RFC 9112 §3.2).
    ///
    /// Refuses authority-form, which is for CONNECT only.
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
        // RFC 9112 §3.2.4: OPTIONS of an absolute-form target without path and query means the whole server.
        head.isAsterisk = path == end && head.method == .options
    }

    /// Returns the position after `http://host:port` of an absolute-form target, where the path begins; the
    /// path may be empty.
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
