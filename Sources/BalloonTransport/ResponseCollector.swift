/// The parts of a response as libcurl hands them over, up to the limit.
struct ResponseCollector {
    private var headers: [(name: String, value: String)] = []
    private var body: [UInt8] = []
    /// Whether the empty line after the last head came.
    private(set) var isHeadComplete = false
    let maximumBytes: Int
    private var countedBytes = 0

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// Takes one line of a head, line break included; a status line begins a new head, as after a 100.
    mutating func receiveHeaderLine(_ line: Span<UInt8>) {
        let text = unsafe line.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        let field = text.utf8.trimmed {
            isWhiteSpace($0) || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n")
        }
        if field.starts(with: "HTTP/".utf8) {
            isHeadComplete = false
            return headers.removeAll()
        }
        // RFC 9110 §6.5.1: fields after the content, which libcurl hands over too, are not merged into the head.
        guard !isHeadComplete else { return }
        isHeadComplete = field.isEmpty
        guard let colon = field.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = field[colon...].dropFirst().trimmed(isWhiteSpace)
        headers.append((String(Substring(field[..<colon])), String(Substring(value))))
    }

    /// Takes a part of the content; false when the limit is passed and the transfer must end.
    mutating func receiveBody(_ part: Span<UInt8>) -> Bool {
        guard part.count <= maximumBytes - body.count else { return false }
        unsafe part.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
        return true
    }

    /// Counts a part of the content that somebody else takes; false when the limit is passed.
    mutating func count(_ part: Span<UInt8>) -> Bool {
        guard part.count <= maximumBytes - countedBytes else { return false }
        countedBytes += part.count
        return true
    }

    func response(status: Int) -> TransportResponse {
        TransportResponse(status: status, headers: headers, body: body)
    }
}

extension BidirectionalCollection {
    fileprivate func trimmed(_ isTrimmed: (Element) -> Bool) -> SubSequence {
        let rest = drop(while: isTrimmed)
        guard let last = rest.lastIndex(where: { !isTrimmed($0) }) else { return rest }
        return rest[...last]
    }
}

/// RFC 9110 §5.6.3: what may stand around a value without being part of it.
private func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
}
