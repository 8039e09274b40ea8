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

    /// Parses a file; nil when the file is damaged, has another version, or was made with other limits of the
    /// index.
    init?(_ bytes: [UInt8], emptyIndex: MessageIndex) {
        guard var bytes = SnapshotDecoder(bytes), bytes.next() == Self.magic, let lastRecord = bytes.next(),
            let nextRecord = bytes.next(), let isUnsynced = bytes.next(),
            let latest = bytes.nextTimestamp()
        else { return nil }
        self.lastRecord = lastRecord
        self.nextRecord = nextRecord
        self.isUnsynced = isUnsynced == 1
        latestMessageAt = latest
        let segments = bytes.list { bytes -> Segment? in
            guard let first = bytes.next(), let end = bytes.next(), let checksum = bytes.next() else {
                return nil
            }
            return Segment(
                first: first, endBytes: Int(clamping: end), checksum: UInt32(truncatingIfNeeded: checksum))
        }
        guard let segments, let ledger = SegmentLedger(&bytes), let assignments = AssignmentTable(&bytes)
        else { return nil }
        let lines = bytes.list { bytes -> Line? in
            guard let message = bytes.next(), let record = bytes.next(), let segment = bytes.next(),
                let offset = bytes.next(), let length = bytes.next(), let offset = UInt32(exactly: offset),
                let length = UInt32(exactly: length)
            else { return nil }
            return Line(
                message: message, record: record,
                location: RecordLocation(segment: segment, offset: offset, lengthBytes: length))
        }
        var index = emptyIndex
        guard let lines, index.decode(from: &bytes), bytes.isAtEnd else { return nil }
        self.segments = segments
        self.ledger = ledger
        self.assignments = assignments
        openLines = lines
        self.index = index
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

    /// Appends a text as its size plus 1 and its bytes, eight in each integer; appends only 0 for nil.
    mutating func append(_ text: String?) {
        guard let text else { return append(0) }
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

/// Reads the output of a ``SnapshotEncoder``.
struct SnapshotDecoder {
    private let bytes: [UInt8]
    private var position = 0
    private let end: Int

    /// Creates a decoder; nil when the checksum is wrong.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 16, bytes.count.isMultiple(of: 8) else { return nil }
        self.bytes = bytes
        end = bytes.count
        position = bytes.count - 8
        let checksum = next()
        guard checksum == UInt64(CRC32.checksum(of: bytes[..<(bytes.count - 8)])) else { return nil }
        position = 0
    }

    /// Whether everything except the checksum was read.
    var isAtEnd: Bool { position == end - 8 }

    mutating func next() -> UInt64? {
        guard position + 8 <= end else { return nil }
        var value: UInt64 = 0
        for offset in 0..<8 { value |= UInt64(bytes[position + offset]) << UInt64(8 * offset) }
        position += 8
        return value
    }

    /// Reads a time; returns nil when too few bytes are left, and `.some(nil)` for an absent time.
    mutating func nextTimestamp() -> Timestamp?? {
        guard let isThere = next(), let milliseconds = next() else { return nil }
        return .some(isThere == 1 ? Timestamp(milliseconds: Int64(bitPattern: milliseconds)) : nil)
    }

    /// Reads a text; returns nil when too few bytes are left, and `.some(nil)` for an absent text.
    mutating func nextText() -> String?? {
        guard let size = next() else { return nil }
        if size == 0 { return .some(nil) }
        let count = Int(clamping: size - 1)
        guard count <= end - position else { return nil }
        var utf8: [UInt8] = []
        utf8.reserveCapacity(count)
        while utf8.count < count {
            guard let word = next() else { return nil }
            for place in 0..<min(8, count - utf8.count) {
                utf8.append(UInt8(truncatingIfNeeded: word >> UInt64(8 * place)))
            }
        }
        return .some(String(decoding: utf8, as: UTF8.self))
    }

    mutating func list<Element>(_ body: (inout SnapshotDecoder) -> Element?) -> [Element]? {
        guard let count = next(), count <= UInt64((end - position) / 8) else { return nil }
        var list: [Element] = []
        list.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let element = body(&self) else { return nil }
            list.append(element)
        }
        return list
    }
}
