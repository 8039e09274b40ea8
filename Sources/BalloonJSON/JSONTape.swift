/// The kind of a tape word.
///
/// The raw value is the low four bits of the word.
enum JSONTag: UInt64 {
    case object, array
    /// A string without escapes, so that the bytes between its quotation marks are its text.
    case plainString
    /// A string with at least one backslash.
    case escapedString
    /// A number without fraction and exponent.
    case integer
    case decimal
    case `true`, `false`, null
}

/// The index of a JSON text: one word for each value and member name in text order, and two for a container.
///
/// First word: tag (4 bits), length in bytes (28), offset (32). Second word of a container: the index after
/// its last word (32), the number of children (32).
///
/// While a container is open, its second word has the index of the enclosing container instead. Scanning
/// therefore needs no stack.
struct JSONTape: Sendable {
    /// The words; those after the root's last one are undefined.
    let words: [UInt64]

    func tag(at index: Int) -> JSONTag {
        // The scan builds each word from a tag, so the fallback is never used.
        JSONTag(rawValue: words[index] & 0xF) ?? .null
    }

    func extent(at index: Int) -> Range<Int> {
        let start = Int(truncatingIfNeeded: words[index] >> 32)
        return start..<start + Int(truncatingIfNeeded: words[index] >> 4 & 0xFFF_FFFF)
    }

    /// Returns the number of children of the container at `index`.
    func count(at index: Int) -> Int {
        Int(truncatingIfNeeded: words[index + 1] >> 32)
    }

    /// Returns the index after the value at `index` and all of its content.
    func end(of index: Int) -> Int {
        words[index] & 0xF <= JSONTag.array.rawValue
            ? Int(truncatingIfNeeded: words[index + 1] & 0xFFFF_FFFF) : index + 1
    }

    @inline(__always)
    static func word(_ tag: JSONTag, _ start: Int, _ end: Int) -> UInt64 {
        tag.rawValue | UInt64(truncatingIfNeeded: end &- start) << 4 | UInt64(truncatingIfNeeded: start) << 32
    }
}
