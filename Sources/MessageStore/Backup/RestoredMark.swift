import BalloonJSON
import BalloonPOSIX

/// `DATA/restored`: the backup from which a directory was restored, and which of its messages are parked.
///
/// `{"format":1,"backup":"…","store":"…","record":4711,"parkThrough":4711,"at":"…"}`. At the next start, each
/// unfinished message or reply up to the record `parkThrough` becomes a dead letter. It is not delivered or
/// sent, because the lost server may have done so after the backup.
struct RestoredMark: Hashable, Sendable {
    /// The reason that the journal gives for the end of a parked message or reply.
    static let reason = "restored from a backup, after which it may have been handled"

    let backup: String
    let store: String
    let record: UInt64
    let parkedThrough: UInt64
    let at: Timestamp

    /// Returns the mark of a directory; nil when the directory was not restored.
    static func read(in directory: DataDirectory) throws(StoreError) -> RestoredMark? {
        guard let bytes = try DataFiles().read(directory.restored) else { return nil }
        // Bytes that are not JSON are reported as damage, in the same way as JSON without these members.
        guard let mark = (try? JSONDocument(bytes)).flatMap({ RestoredMark($0.root) }) else {
            throw .damaged(file: directory.restored, line: 1)
        }
        return mark
    }

    /// The content of the file.
    var content: [UInt8] {
        JSONWriter.object { writer in
            writer.field("format", 1)
            writer.field("backup", backup)
            writer.field("store", store)
            writer.field("record", Int(clamping: record))
            writer.field("parkThrough", Int(clamping: parkedThrough))
            writer.field("at", at)
        } + [UInt8(ascii: "\n")]
    }
}

extension RestoredMark {
    fileprivate init?(_ root: JSONValue) {
        guard root["format"]?.int == 1, let backup = root["backup"]?.string,
            let store = root["store"]?.string,
            let record = root["record"]?.int.flatMap(UInt64.init(exactly:)),
            let parkedThrough = root["parkThrough"]?.int.flatMap(UInt64.init(exactly:)),
            let at = root.timestamp("at")
        else { return nil }
        self.init(backup: backup, store: store, record: record, parkedThrough: parkedThrough, at: at)
    }
}
