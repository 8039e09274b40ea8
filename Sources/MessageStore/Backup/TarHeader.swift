/// The header of a file in a tar archive: one block of 512 bytes (POSIX.1-2024, `pax`, "ustar Interchange Format").
///
/// It describes a regular file with mode 0600 and without an owner.
struct TarHeader: Hashable, Sendable {
    /// The size of a block: a header is one block, and zeros fill up the last block of a content.
    static let blockBytes = 512
    private static let nameBytes = 100
    private static let prefixBytes = 155
    /// The maximum size of a file, which eleven octal digits can express: 8 GiB less one byte.
    static let maximumBytes = 1 << 33 - 1

    /// The relative path of the file, with slashes between its parts.
    let path: String
    let sizeBytes: Int
    /// The time of the last change, in seconds since 1970.
    let modifiedAt: Int

    /// The header's 512 bytes; nil when the path or the size does not fit.
    var block: [UInt8]? {
        guard let (prefix, name) = Self.split(Array(path.utf8)), (0...Self.maximumBytes).contains(sizeBytes)
        else { return nil }
        var block: [UInt8] = []
        block.reserveCapacity(Self.blockBytes)
        Self.append(name, to: 100, &block)
        Self.append(Array("0000600".utf8), to: 108, &block)
        // The numeric identifiers of owner and group.
        Self.append(Array("0000000".utf8), to: 116, &block)
        Self.append(Array("0000000".utf8), to: 124, &block)
        Self.append(Self.octal(sizeBytes, digits: 11), to: 136, &block)
        Self.append(Self.octal(max(0, min(modifiedAt, Self.maximumBytes)), digits: 11), to: 148, &block)
        // The checksum field counts as eight blanks while the checksum is computed.
        block += [UInt8](repeating: UInt8(ascii: " "), count: 8)
        Self.append([UInt8(ascii: "0")], to: 257, &block)
        Self.append(Array("ustar".utf8), to: 263, &block)
        Self.append(Array("00".utf8), to: 345, &block)
        Self.append(prefix, to: Self.blockBytes, &block)
        let checksum = Self.octal(block.reduce(0) { $0 + Int($1) }, digits: 6) + [0, UInt8(ascii: " ")]
        block.replaceSubrange(148..<156, with: checksum)
        return block
    }

    /// The number of zeros behind the content.
    var paddingBytes: Int { (Self.blockBytes - sizeBytes % Self.blockBytes) % Self.blockBytes }
}

extension TarHeader {
    /// Parses a block; nil when it is not the header of a regular file, or its checksum is wrong.
    init?(_ block: [UInt8]) {
        guard block.count == Self.blockBytes, block[257..<262].elementsEqual("ustar".utf8),
            block[156] == UInt8(ascii: "0") || block[156] == 0,
            let checksum = Self.number(block[148..<156]), let size = Self.number(block[124..<136]),
            let modified = Self.number(block[136..<148])
        else { return nil }
        let sum = block.indices.reduce(0) {
            $0 + Int((148..<156).contains($1) ? UInt8(ascii: " ") : block[$1])
        }
        guard sum == checksum else { return nil }
        let (prefix, name) = (block[345..<500].prefix { $0 != 0 }, block[0..<100].prefix { $0 != 0 })
        let path = prefix.isEmpty ? Array(name) : prefix + [UInt8(ascii: "/")] + name
        guard let text = String(validating: path, as: UTF8.self) else { return nil }
        self.init(path: text, sizeBytes: size, modifiedAt: modified)
    }

    /// Splits a path at its last slash; nil when a part is too long.
    ///
    /// The prefix is empty when the whole path fits into the name.
    private static func split(_ path: [UInt8]) -> (prefix: [UInt8], name: [UInt8])? {
        if (1...nameBytes).contains(path.count) { return ([], path) }
        guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let (prefix, name) = (path[..<slash], path[(slash + 1)...])
        guard prefix.count <= prefixBytes, (1...nameBytes).contains(name.count) else { return nil }
        return (Array(prefix), Array(name))
    }

    /// Appends a field, and zeros until the block has `end` bytes.
    private static func append(_ field: [UInt8], to end: Int, _ block: inout [UInt8]) {
        block += field
        block += [UInt8](repeating: 0, count: end - block.count)
    }

    private static func octal(_ number: Int, digits: Int) -> [UInt8] {
        let text = Array(String(number, radix: 8).utf8)
        return [UInt8](repeating: UInt8(ascii: "0"), count: max(0, digits - text.count)) + text
    }

    /// Parses octal digits, which end with a zero or a blank; at most eleven, so that no number overflows.
    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.prefix { $0 != 0 && $0 != UInt8(ascii: " ") }
        guard (1...11).contains(digits.count), digits.allSatisfy({ (0x30...0x37).contains($0) }),
            field.dropFirst(digits.count).allSatisfy({ $0 == 0 || $0 == UInt8(ascii: " ") })
        else { return nil }
        return digits.reduce(0) { $0 << 3 | Int($1 - 0x30) }
    }
}
