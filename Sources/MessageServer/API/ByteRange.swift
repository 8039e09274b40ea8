/// The part of some content that a request asks for in the header field `Range` (RFC 9110 §14).
enum ByteRange: Equatable {
    /// The whole content: the request has no `Range`, or one that the server ignores, which RFC 9110 allows.
    case whole
    case part(Range<Int>)
    /// No byte of the content is in the range.
    case unsatisfiable

    /// Reads the value of `Range` for content of this size.
    ///
    /// Several ranges, other units and malformed values are ignored (RFC 9110 §14.2).
    init(_ value: String?, sizeBytes: Int) {
        guard let value, value.lowercased().hasPrefix("bytes=") else {
            self = .whole
            return
        }
        let ends = value.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }) else {
            self = .whole
            return
        }
        // A number that does not fit into an `Int` is beyond the end of any content.
        let first = ends[0].isEmpty ? nil : Int(ends[0]) ?? Int.max
        let last = ends[1].isEmpty ? nil : Int(ends[1]) ?? Int.max
        switch (first, last) {
        case (nil, nil): self = .whole
        case (nil, let count?):
            self = count > 0 && sizeBytes > 0 ? .part(max(0, sizeBytes - count)..<sizeBytes) : .unsatisfiable
        case (let first?, let last):
            guard last.map({ $0 >= first }) ?? true else {
                self = .whole
                return
            }
            let end = min(last.map { $0 == Int.max ? $0 : $0 + 1 } ?? sizeBytes, sizeBytes)
            self = first < end ? .part(first..<end) : .unsatisfiable
        }
    }
}
