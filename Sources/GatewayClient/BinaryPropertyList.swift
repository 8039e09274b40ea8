/// The texts of a binary property list, in the order of its objects; the relations between objects are
/// ignored.
///
/// The format is `bplist00`, the objects, their offsets, and a 32-byte trailer (Apple's CFBinaryPList.c).
struct BinaryPropertyList {
    /// Every string of the list, in the order of the objects.
    let texts: [String]

    private static let magic = Array("bplist00".utf8)
    private static let trailerBytes = 32
    private static let maximumObjects = 100_000

    /// Parses a whole list; returns nil when the bytes have another format, or when an offset or a length
    /// points outside the bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.starts(with: Self.magic), bytes.count >= Self.magic.count + Self.trailerBytes else {
            return nil
        }
        let trailer = bytes.count - Self.trailerBytes
        let offsetBytes = Int(bytes[trailer + 6])
        guard (1...8).contains(offsetBytes), let count = number(bytes, at: trailer + 8, bytes: 8),
            let table = number(bytes, at: trailer + 24, bytes: 8), count <= Self.maximumObjects,
            table >= Self.magic.count,
            table <= trailer, count * offsetBytes <= trailer - table
        else { return nil }
        var texts: [String] = []
        for index in 0..<count {
            guard let offset = number(bytes, at: table + index * offsetBytes, bytes: offsetBytes),
                (Self.magic.count..<table).contains(offset)
            else { return nil }
            // Objects other than texts are skipped.
            guard [5, 6].contains(bytes[offset] >> 4) else { continue }
            guard let text = text(bytes, at: offset, before: table) else { return nil }
            texts.append(text)
        }
        self.texts = texts
    }
}

/// Returns the text whose marker is at `offset`; nil when the text does not end before `end`.
///
/// The text is ASCII or UTF-16. The marker, or the integer after it, has the text's length.
private func text(_ bytes: [UInt8], at offset: Int, before end: Int) -> String? {
    var start = offset + 1
    var length = Int(bytes[offset] & 15)
    if length == 15 {
        guard start < end, bytes[start] >> 4 == 1, bytes[start] & 15 <= 3 else { return nil }
        let width = 1 << Int(bytes[start] & 15)
        guard let long = number(bytes, at: start + 1, bytes: width) else { return nil }
        length = long
        start += 1 + width
    }
    let unitBytes = bytes[offset] >> 4 == 5 ? 1 : 2
    guard start <= end, length <= (end - start) / unitBytes else { return nil }
    let content = bytes[start..<start + length * unitBytes]
    guard unitBytes == 2 else { return String(decoding: content, as: UTF8.self) }
    let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map {
        UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
    }
    return String(decoding: units, as: UTF16.self)
}

/// Returns the big-endian number at `offset`; nil when it is out of bounds or too large for an offset.
private func number(_ bytes: [UInt8], at offset: Int, bytes width: Int) -> Int? {
    guard offset >= 0, width <= bytes.count - offset else { return nil }
    let value = bytes[offset..<offset + width].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return value <= UInt64(Int32.max) ? Int(value) : nil
}
