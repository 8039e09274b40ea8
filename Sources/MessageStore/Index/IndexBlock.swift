/// A block of an index's file, with its checksum.
///
/// Its numbers have eight bytes: the type with a mark; the size in bytes; the record through which the file
/// is complete (0 when another block follows); the content; the checksum of everything before it.
struct IndexBlock: Sendable {
    /// The content of a block.
    enum Content: Sendable {
        /// The first block of a file: the data directory's identity, and the kinds' names by their numbers.
        case header([String])
        /// More folders of businesses, which get the next numbers.
        case businesses([String])
        /// Entries; each replaces an earlier entry of the same conversation.
        case entries([IndexEntry])
        /// The removed conversations, each as an entry.
        case removed([IndexEntry])
        /// Nothing: the block only says through which record the file is complete.
        case nothing
    }

    static let headerBytes = 24
    /// The maximum number of entries or names in a block.
    static let maximumElements = 4096
    /// The maximum size of a block in bytes; a name has at most 255 bytes, because it is that of a folder.
    static let maximumBytes = 64 + maximumElements * 288
    private static let mark: UInt64 = 0x5844_4943_0000_0000

    let content: Content
    /// The record of the journal through which the file is complete with this block; 0 when another block follows.
    var through: UInt64 = 0

    /// Returns the size of the block that has this header; nil when the bytes are not a valid header.
    static func sizeBytes(_ header: [UInt8]) -> Int? {
        guard header.count == headerBytes else { return nil }
        var numbers: [UInt64] = []
        for start in [0, 8] {
            numbers.append((0..<8).reduce(0) { $0 | UInt64(header[start + $1]) << UInt64(8 * $1) })
        }
        guard numbers[0] & ~0xff == mark, numbers[1] >= UInt64(headerBytes) + 8,
            numbers[1] <= UInt64(maximumBytes), numbers[1].isMultiple(of: 8)
        else { return nil }
        return Int(numbers[1])
    }

    /// The bytes of the block.
    var encoded: [UInt8] {
        var bytes = SnapshotEncoder()
        switch content {
        case .header(let texts): Self.append(0, texts, through, to: &bytes)
        case .businesses(let texts): Self.append(1, texts, through, to: &bytes)
        case .entries(let entries): Self.append(2, entries, through, to: &bytes)
        case .removed(let entries): Self.append(3, entries, through, to: &bytes)
        case .nothing: Self.append(4, [String](), through, to: &bytes)
        }
        return bytes.finish()
    }

    /// Parses a block; nil when it is damaged.
    init?(_ bytes: [UInt8]) {
        guard var decoder = SnapshotDecoder(bytes), let type = decoder.next(),
            decoder.next() == UInt64(bytes.count), let through = decoder.next()
        else { return nil }
        self.through = through
        switch type {
        case Self.mark | 0, Self.mark | 1, Self.mark | 4:
            guard let texts = decoder.list(Self.text) else { return nil }
            content =
                type == Self.mark ? .header(texts) : type == Self.mark | 1 ? .businesses(texts) : .nothing
        case Self.mark | 2, Self.mark | 3:
            guard let entries = decoder.list(IndexEntry.init(from:)) else { return nil }
            content = type == Self.mark | 2 ? .entries(entries) : .removed(entries)
        default: return nil
        }
        guard decoder.isAtEnd else { return nil }
    }

    init(_ content: Content, through: UInt64 = 0) {
        self.content = content
        self.through = through
    }

    private static func append(
        _ type: UInt64, _ texts: [String], _ through: UInt64, to bytes: inout SnapshotEncoder
    ) {
        let size = texts.reduce(headerBytes + 16) { $0 + 8 + ($1.utf8.count + 7) / 8 * 8 }
        for number in [mark | type, UInt64(size), through] { bytes.append(number) }
        bytes.append(texts) { bytes, text in
            bytes.append(UInt64(text.utf8.count))
            var word: UInt64 = 0
            for (place, byte) in text.utf8.enumerated() {
                word |= UInt64(byte) << UInt64(place % 8 * 8)
                if place % 8 == 7 || place == text.utf8.count - 1 {
                    bytes.append(word)
                    word = 0
                }
            }
        }
    }

    private static func append(
        _ type: UInt64, _ entries: [IndexEntry], _ through: UInt64, to bytes: inout SnapshotEncoder
    ) {
        let size = headerBytes + 16 + entries.count * IndexEntry.encodedBytes
        for number in [mark | type, UInt64(size), through] { bytes.append(number) }
        bytes.append(entries) { bytes, entry in entry.encode(to: &bytes) }
    }

    private static func text(_ decoder: inout SnapshotDecoder) -> String? {
        guard let count = decoder.next(), count <= 1024 else { return nil }
        var bytes: [UInt8] = []
        while bytes.count < Int(count) {
            guard let word = decoder.next() else { return nil }
            for place in 0..<min(8, Int(count) - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * place)))
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension IndexEntry {
    static let encodedBytes = 56

    fileprivate func encode(to bytes: inout SnapshotEncoder) {
        bytes.append(digest.first)
        bytes.append(digest.second)
        bytes.append(digest.third)
        bytes.append(digest.fourth)
        bytes.append(UInt64(bitPattern: milliseconds))
        bytes.append(
            UInt64(lines) << 32 | UInt64(business) << 16 | UInt64(kindNumber) << 8 | (isOutbound ? 1 : 0))
        bytes.append(UInt64(oldestDay))
    }

    fileprivate init?(from bytes: inout SnapshotDecoder) {
        guard let first = bytes.next(), let second = bytes.next(), let third = bytes.next(),
            let fourth = bytes.next(), let milliseconds = bytes.next(), let rest = bytes.next(),
            let oldestDay = bytes.next()
        else { return nil }
        self.init(
            ConversationDigest(first, second, third, fourth),
            business: UInt16(truncatingIfNeeded: rest >> 16), at: Int64(bitPattern: milliseconds),
            lines: UInt32(truncatingIfNeeded: rest >> 32), kindNumber: UInt8(truncatingIfNeeded: rest >> 8),
            isOutbound: rest & 1 == 1, oldestDay: UInt16(truncatingIfNeeded: oldestDay))
    }
}
