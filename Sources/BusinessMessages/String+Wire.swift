extension String {
    /// The text without surrounding white space.
    package var trimmed: Substring { self[...].trimmed }
}

extension Substring {
    /// The text without surrounding white space.
    package var trimmed: Substring {
        self[utf8Span.span.trimmedBounds(dropsMarkers: false), from: startIndex]
    }

    /// The text between two offsets of its UTF-8 bytes.
    private subscript(bytes: Range<Int>, from start: Index) -> Substring {
        let lower = utf8.index(start, offsetBy: bytes.lowerBound)
        return self[lower..<utf8.index(lower, offsetBy: bytes.count)]
    }
}

extension Span<UInt8> {
    /// The bounds of a text in UTF-8 without the white space around it, and without the markers of attachments there.
    ///
    /// Customers write texts of megabytes. So this reads bytes, and only those that it drops: to find the bounds of
    /// characters takes a hundred times as long.
    func trimmedBounds(dropsMarkers: Bool) -> Range<Int> {
        var (start, end) = (0, count)
        while start < end {
            if isBlank(self[start]) {
                start += 1
            } else if end - start >= 2, isBlank(self[start], self[start + 1]) {
                start += 2
            } else if end - start >= 3, isDropped(at: start, dropsMarkers) {
                start += 3
            } else {
                break
            }
        }
        // No byte inside a scalar begins a sequence, so the bytes before the end are compared in the same way.
        while start < end {
            if isBlank(self[end - 1]) {
                end -= 1
            } else if end - start >= 2, isBlank(self[end - 2], self[end - 1]) {
                end -= 2
            } else if end - start >= 3, isDropped(at: end - 3, dropsMarkers) {
                end -= 3
            } else {
                break
            }
        }
        return start..<end
    }

    /// Whether the marker of an attachment, U+FFFC, stands at an offset.
    func hasMarker(at offset: Int) -> Bool {
        self[offset] == 0xEF && count - offset >= 3 && self[offset + 1] == 0xBF && self[offset + 2] == 0xBC
    }

    private func isDropped(at offset: Int, _ dropsMarkers: Bool) -> Bool {
        isBlank(self[offset], self[offset + 1], self[offset + 2]) || dropsMarkers && hasMarker(at: offset)
    }
}

// The scalars with the property White_Space of Unicode, which `Character.isWhitespace` reads, by their bytes.

private func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

private func isBlank(_ first: UInt8, _ second: UInt8) -> Bool {
    first == 0xC2 && (second == 0x85 || second == 0xA0)
}

private func isBlank(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
    switch (first, second, third) {
    case (0xE1, 0x9A, 0x80), (0xE2, 0x80, 0x80...0x8A), (0xE2, 0x80, 0xA8...0xA9), (0xE2, 0x80, 0xAF),
        (0xE2, 0x81, 0x9F), (0xE3, 0x80, 0x80):
        true
    default: false
    }
}

extension String {
    /// Whether two texts have the same UTF-8 bytes; `==` would also accept canonically equivalent texts.
    ///
    /// For ASCII texts the fast `==` alone decides. Speed matters here, because every lookup of a
    /// conversation compares identifiers.
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count, self == other else { return false }
        return utf8Span.isKnownASCII || utf8.elementsEqual(other.utf8)
    }
}
