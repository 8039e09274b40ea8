import BalloonPOSIX
import BalloonWire

/// The state of a journal up to one record: hashes, numbers, and the assignments of conversations.
///
/// The snapshot is a cache. A start applies the later records to it, and gets the same state as from the
/// complete journal. For unfinished messages it has only the places of their lines, which the start reads.
/// The state of a message is therefore computed from records only, and has no second format.
struct JournalSnapshot: Sendable {
    /// The end of a segment's last record: the offset after its line feed.
    struct End: Sendable {
        let first: UInt64
        let bytes: Int
    }

    /// A segment that the snapshot covers.
    struct Segment: Hashable, Sendable {
        let first: UInt64
        /// The offset after the last covered line of the segment, including its line feed.
        let endBytes: Int
        /// The checksum in the last covered line.
        let checksum: UInt32
    }

    /// A journal line that concerns an unfinished message.
    struct Line: Hashable, Sendable {
        /// The record number of the message itself.
        let message: UInt64
        let record: UInt64
        let location: RecordLocation
    }

    /// The last record that the snapshot covers.
    var lastRecord: UInt64
    var segments: [Segment]
    /// The next record number to assign.
    var nextRecord: UInt64
    var isUnsynced: Bool
    var latestMessageAt: Timestamp?
    var ledger: SegmentLedger
    var assignments: AssignmentTable
    /// The lines of unfinished messages; in a file, in the order of the lines' records.
    var openLines: [Line]
    var index: MessageIndex

    private static let magic: UInt64 = 0x36_746f_6853_6e42

    /// Returns the content of the file: a number that identifies the format's version, the members, and a
    /// checksum.
    func encoded() -> [UInt8] {
        // An array that grows is copied, and takes up to three times the memory meanwhile.
        var bytes = SnapshotEncoder(capacity: index.countInMemory * 24 + openLines.count * 40 + (64 << 10))
        bytes.append(Self.magic)
        for value in [lastRecord, nextRecord] { bytes.append(value) }
        bytes.append(isUnsynced ? 1 : 0)
        bytes.append(latestMessageAt)
        bytes.append(segments) { bytes, segment in
            bytes.append(segment.first)
            bytes.append(UInt64(segment.endBytes))
            bytes.append(UInt64(segment.checksum))
        }
        ledger.encode(to: &bytes)
        assignments.encode(to: &bytes)
        // Sorted here, because the state is locked while a snapshot is made of it.
        bytes.append(openLines.sorted { ($0.record, $0.message) < ($1.record, $1.message) }) { bytes, line in
            bytes.append(line.message)
            bytes.append(line.record)
            bytes.append(line.location.segment)
            bytes.append(UInt64(line.location.offset))
            bytes.append(UInt64(line.location.lengthBytes))
        }
        index.encode(to: &bytes, through: lastRecord)
        return bytes.finish()
    }

    /// Parses a file; throws when the file is damaged, has another version, or was made with other limits of the
    /// index.
    init(_ bytes: [UInt8], emptyIndex: MessageIndex) throws {
        var bytes = try SnapshotDecoder(bytes)
        guard try bytes.next() == Self.magic else { throw SnapshotDecoder.Misfit() }
        lastRecord = try bytes.next()
        nextRecord = try bytes.next()
        isUnsynced = try bytes.next() == 1
        latestMessageAt = try bytes.nextTimestamp()
        segments = try bytes.list { bytes in
            Segment(
                first: try bytes.next(), endBytes: Int(clamping: try bytes.next()),
                checksum: UInt32(truncatingIfNeeded: try bytes.next()))
        }
        ledger = try SegmentLedger(&bytes)
        assignments = try AssignmentTable(&bytes)
        openLines = try bytes.list { bytes in
            Line(
                message: try bytes.next(), record: try bytes.next(),
                location: RecordLocation(
                    segment: try bytes.next(), offset: try bytes.nextUInt32(),
                    lengthBytes: try bytes.nextUInt32()))
        }
        index = emptyIndex
        try index.decode(from: &bytes)
        guard bytes.isAtEnd else { throw SnapshotDecoder.Misfit() }
    }

    /// The state after `lastRecord`, still without segments.
    init(of state: JournalState, index: MessageIndex, through lastRecord: UInt64) {
        self.lastRecord = lastRecord
        segments = []
        nextRecord = state.nextRecord
        isUnsynced = state.isUnsynced
        latestMessageAt = state.latestMessageAt
        ledger = state.ledger
        assignments = state.assignments
        openLines = state.openLines
        self.index = index
    }
}

/// Encodes values as 64-bit integers, the least significant byte first.
struct SnapshotEncoder {
    private var bytes: [UInt8] = []

    init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    mutating func append(_ value: UInt64) {
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    mutating func append(_ time: Timestamp?) {
        append(time == nil ? 0 : 1)
        append(UInt64(bitPattern: time?.milliseconds ?? 0))
    }

    /// Appends a text as its size plus 1 and its bytes, eight in each integer.
    mutating func append(_ text: String) {
        let utf8 = Array(text.utf8)
        append(UInt64(utf8.count) + 1)
        for start in stride(from: 0, to: utf8.count, by: 8) {
            append((start..<min(start + 8, utf8.count)).reversed().reduce(0) { $0 << 8 | UInt64(utf8[$1]) })
        }
    }

    mutating func append<Element>(_ list: [Element], _ body: (inout SnapshotEncoder, Element) -> Void) {
        append(UInt64(list.count))
        for element in list { body(&self, element) }
    }

    /// Returns the appended bytes, followed by their checksum.
    consuming func finish() -> [UInt8] {
        append(UInt64(CRC32.checksum(of: bytes)))
        return bytes
    }
}

/// Reads the output of a ``SnapshotEncoder``; throws ``Misfit`` when too few bytes are left.
struct SnapshotDecoder {
    /// The bytes are damaged, or have another form than the reader expects.
    struct Misfit: Error {}

    private let bytes: [UInt8]
    private var position = 0
    private let end: Int

    /// Creates a decoder; throws when the checksum is wrong.
    init(_ bytes: [UInt8]) throws {
        guard bytes.count >= 16, bytes.count.isMultiple(of: 8) else { throw Misfit() }
        self.bytes = bytes
        end = bytes.count
        position = bytes.count - 8
        let checksum = try next()
        guard checksum == UInt64(CRC32.checksum(of: bytes[..<(bytes.count - 8)])) else { throw Misfit() }
        position = 0
    }

    /// Whether everything except the checksum was read.
    var isAtEnd: Bool { position == end - 8 }

    mutating func next() throws -> UInt64 {
        guard position + 8 <= end else { throw Misfit() }
        var value: UInt64 = 0
        for offset in 0..<8 { value |= UInt64(bytes[position + offset]) << UInt64(8 * offset) }
        position += 8
        return value
    }

    /// Reads a number; throws when it needs more than 32 bits.
    mutating func nextUInt32() throws -> UInt32 {
        guard let value = UInt32(exactly: try next()) else { throw Misfit() }
        return value
    }

    /// Reads a time; nil for an absent time.
    mutating func nextTimestamp() throws -> Timestamp? {
        let (isThere, milliseconds) = (try next(), try next())
        return isThere == 1 ? Timestamp(milliseconds: Int64(bitPattern: milliseconds)) : nil
    }

    /// Reads a text.
    mutating func nextText() throws -> String {
        let size = try next()
        guard size > 0, size - 1 <= UInt64(end - position) else { throw Misfit() }
        let count = Int(size - 1)
        var utf8: [UInt8] = []
        utf8.reserveCapacity(count)
        while utf8.count < count {
            let word = try next()
            for place in 0..<min(8, count - utf8.count) {
                utf8.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * place)))
            }
        }
        return String(decoding: utf8, as: UTF8.self)
    }

    /// Returns a value that was read; throws when it is absent.
    static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Misfit() }
        return value
    }

    mutating func list<Element>(_ body: (inout SnapshotDecoder) throws -> Element) throws -> [Element] {
        let count = try next()
        guard count <= UInt64((end - position) / 8) else { throw Misfit() }
        return try (0..<Int(count)).map { _ in try body(&self) }
    }
}
