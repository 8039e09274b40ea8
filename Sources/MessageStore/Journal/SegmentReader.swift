import BalloonJSON
import BalloonPOSIX
import Synchronization

/// Reads single lines from segments, and keeps a limited number of segments open.
final class SegmentReader: Sendable {
    private let directory: String
    private let files = Mutex<[UInt64: File]>([:])
    private static let maximumOpenFiles = 32

    init(directory: String) { self.directory = directory }

    /// Adds an open segment; closes the open segment with the lowest number when too many are open.
    func add(_ file: File, firstRecord: UInt64) {
        files.withLock { files in
            if files.count >= Self.maximumOpenFiles, let oldest = files.keys.min() { files[oldest] = nil }
            files[firstRecord] = file
        }
    }

    /// Closes a segment, because its file is deleted.
    func remove(firstRecord: UInt64) { files.withLock { $0[firstRecord] = nil } }

    /// Reads the line of a record; throws when the line is unreadable or damaged.
    func line(at location: RecordLocation) throws(StoreError) -> JSONDocument {
        let bytes = try bytes(at: location)
        // The checksum is correct, and the JSON was valid when it was written, so only another program can
        // cause this error.
        guard let document = try? JSONDocument(bytes, limits: .journal) else {
            throw .damaged(file: path(firstRecord: location.segment), line: 0)
        }
        return document
    }

    /// Reads the bytes of a record's line; throws when the line is unreadable or damaged.
    func bytes(at location: RecordLocation) throws(StoreError) -> [UInt8] {
        let bytes = try StoreError.naming(path(firstRecord: location.segment)) { () throws(SystemError) in
            try file(firstRecord: location.segment)
                .read(at: Int(location.offset), count: Int(location.lengthBytes))
        }
        // A line that is too short or has a wrong checksum is damaged.
        guard bytes.count == Int(location.lengthBytes), JournalLine.isIntact(bytes[...]) else {
            throw .damaged(file: path(firstRecord: location.segment), line: 0)
        }
        return bytes
    }

    private func path(firstRecord: UInt64) -> String {
        SegmentName.path(firstRecord, in: directory)
    }

    private func file(firstRecord: UInt64) throws(SystemError) -> File {
        if let file = files.withLock({ $0[firstRecord] }) { return file }
        let file = try File(path(firstRecord: firstRecord), for: .reading)
        add(file, firstRecord: firstRecord)
        return file
    }
}

extension JSONLimits {
    /// The limits for parsing records: every message that was accepted is within them.
    static var journal: JSONLimits {
        JSONLimits(
            maximumDepth: 1 << 20, maximumBytes: JSONLimits.addressableBytes,
            maximumNodes: JSONLimits.addressableBytes)
    }
}
