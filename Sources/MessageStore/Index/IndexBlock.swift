/// A block of an index's file, with its checksum: entries of one business.
///
/// Its numbers have eight bytes: a mark; the size in bytes; the record through which the file is complete (0
/// when another block follows); the folder of the business; the entries; the checksum of everything before it.
struct IndexBlock: Sendable {
    static let headerBytes = 24
    /// The maximum number of entries in a block.
    static let maximumElements = 4096
    /// The maximum size of a block in bytes; a folder's name has at most 255 bytes.
    private static let maximumBytes = 1024 + maximumElements * IndexEntry.encodedBytes
    private static let mark: UInt64 = 0x5844_4943_0000_0010

    /// The folder of the business.
    ///
    /// The first block of a file has the data directory's identity and the kinds' names instead.
    let folder: String
    /// The entries; each replaces an earlier entry of the same conversation, and one without lines removes it.
    let entries: [IndexEntry]
    /// The record of the journal through which the file is complete with this block; 0 when another block follows.
    let through: UInt64

    init(_ entries: [IndexEntry] = [], of folder: String = "", through: UInt64 = 0) {
        (self.entries, self.folder, self.through) = (entries, folder, through)
    }

    /// Returns the size of the block that has this header; nil when the bytes are not a valid header.
    static func sizeBytes(_ header: [UInt8]) -> Int? {
        guard header.count == headerBytes else { return nil }
        let numbers = [0, 8].map { start -> UInt64 in
            header[start..<start + 8].reversed().reduce(0) { number, byte in number << 8 | UInt64(byte) }
        }
        guard numbers[0] == mark, (UInt64(headerBytes) + 8...UInt64(maximumBytes)).contains(numbers[1]),
            numbers[1].isMultiple(of: 8)
        else { return nil }
        return Int(numbers[1])
    }

    /// The bytes of the block.
    var encoded: [UInt8] {
        var bytes = SnapshotEncoder()
        bytes.append(Self.mark)
        // The size includes the numbers of the lists and the checksum.
        let textBytes = (folder.utf8.count + 7) / 8 * 8
        bytes.append(UInt64(Self.headerBytes + 24 + textBytes + entries.count * IndexEntry.encodedBytes))
        bytes.append(through)
        bytes.append(folder)
        bytes.append(entries) { bytes, entry in entry.encode(to: &bytes) }
        return bytes.finish()
    }

    /// Parses a block; throws when it is damaged.
    init(_ bytes: [UInt8]) throws {
        var decoder = try SnapshotDecoder(bytes)
        guard try decoder.next() == Self.mark, try decoder.next() == UInt64(bytes.count) else {
            throw SnapshotDecoder.Misfit()
        }
        through = try decoder.next()
        folder = try decoder.nextText()
        entries = try decoder.list(IndexEntry.init(from:))
        guard decoder.isAtEnd else { throw SnapshotDecoder.Misfit() }
    }
}

extension IndexEntry {
    static let encodedBytes = 48

    fileprivate func encode(to bytes: inout SnapshotEncoder) {
        bytes.append(digest.first)
        bytes.append(digest.second)
        bytes.append(digest.third)
        bytes.append(digest.fourth)
        bytes.append(UInt64(bitPattern: milliseconds))
        let days = UInt64(lines) << 32 | UInt64(oldestDay) << 16
        let kind: UInt64 = UInt64(kindNumber) << 8 | (isOutbound ? 1 : 0)
        bytes.append(days | kind)
    }

    /// Parses an entry, whose business is that of the block.
    fileprivate init(from bytes: inout SnapshotDecoder) throws {
        let digest = ConversationDigest(
            try bytes.next(), try bytes.next(), try bytes.next(), try bytes.next())
        let (milliseconds, rest) = (try bytes.next(), try bytes.next())
        self.init(
            digest, business: 0, at: Int64(bitPattern: milliseconds),
            lines: UInt32(truncatingIfNeeded: rest >> 32), kindNumber: UInt8(truncatingIfNeeded: rest >> 8),
            isOutbound: rest & 1 == 1, oldestDay: UInt16(truncatingIfNeeded: rest >> 16))
    }
}
