/// The parts of a response that libcurl has delivered so far, up to the size limit.
struct ResponseCollector {
    private var headers: [(name: String, value: String)] = []
    private var body: [UInt8] = []
    /// Whether the empty line that ends the final header has arrived.
    private(set) var isHeadComplete = false
    let maximumBytes: Int
    private var countedBytes = 0

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// Receives one header line with its line break.
    ///
    /// A status line discards the previous header, for example that of a `100 Continue`.
    mutating func receiveHeaderLine(_ line: Span<UInt8>) {
        let text = unsafe line.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
        let field = text.utf8.trimmed {
            isWhiteSpace($0) || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n")
        }
        if field.starts(with: "HTTP/".utf8) {
            isHeadComplete = false
            return headers.removeAll()
        }
        // RFC 9110 §6.5.1: libcurl also passes trailer fields, which are not merged into the head.
        guard !isHeadComplete else { return }
        isHeadComplete = field.isEmpty
        guard let colon = field.firstIndex(of: UInt8(ascii: ":")) else { return }
        let value = field[colon...].dropFirst().trimmed(isWhiteSpace)
        headers.append((String(Substring(field[..<colon])), String(Substring(value))))
    }

    /// Receives a part of the content; returns false when the limit is exceeded and the transfer must end.
    mutating func receiveBody(_ part: Span<UInt8>) -> Bool {
        guard part.count <= maximumBytes - body.count else { return false }
        unsafe part.withUnsafeBufferPointer { unsafe body.append(contentsOf: $0) }
        return true
    }

    /// Counts a part of the content that a sink consumes; returns false when the limit is exceeded.
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

/// Whether a byte is white space that may surround a value (RFC 9110 §5.6.3).
private func isWhiteSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
}
