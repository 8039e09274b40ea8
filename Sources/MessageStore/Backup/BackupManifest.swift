import BalloonJSON
package import BalloonPOSIX

/// The last file of a backup: describes the copied directory, and has the hash of the list of files.
///
/// `{"format":1,"id":"…","store":"…","version":"2","record":4711,"at":"…","program":"…","files":93,"bytes":1048576,`
/// `"sha256":"…"}`
package struct BackupManifest: Hashable, Sendable {
    /// The path of the manifest in the archive.
    static let path = "manifest.json"
    /// The path of the list of files, which has the format of `sha256sum`.
    ///
    /// Each line has the SHA-256 of a file, two blanks and the path.
    static let sumsPath = "SHA256SUMS"
    static let format = 1
    static let maximumBytes = 64 << 10

    /// The identifier of the backup, 32 hexadecimal digits; the ledger of erasures lists it.
    package let id: String
    /// The identity of the data directory.
    package let store: String
    /// The version of the data directory.
    let version: String
    /// The number of the last journal record in the backup.
    package let record: UInt64
    /// The time at which the backup began.
    package let at: Timestamp
    /// The version of the program that made the backup.
    let program: String
    /// The number of files, apart from `SHA256SUMS` and the manifest.
    package let files: Int
    /// The total size of these files in bytes.
    package let bytes: Int
    /// The SHA-256 of the list.
    let sumsHash: String

    /// The content of the file.
    var content: [UInt8] {
        JSONWriter.object { writer in
            writer.field("format", Self.format)
            writer.field("id", id)
            writer.field("store", store)
            writer.field("version", version)
            writer.field("record", Int(clamping: record))
            writer.field("at", at)
            writer.field("program", program)
            writer.field("files", files)
            writer.field("bytes", bytes)
            writer.field("sha256", sumsHash)
        } + [UInt8(ascii: "\n")]
    }
}

extension BackupManifest {
    /// Parses a manifest.
    init(_ content: [UInt8]) throws(BackupError) {
        // Bytes that are not JSON are reported in the same way as JSON without the member `format`.
        guard let root = (try? JSONDocument(content))?.root, let format = root["format"]?.int else {
            throw .damaged("its manifest is not JSON")
        }
        guard format <= Self.format else { throw .newerFormat(format) }
        guard let id = root["id"]?.string, let store = root["store"]?.string,
            let version = root["version"]?.string,
            let record = root["record"]?.int.flatMap(UInt64.init(exactly:)), let at = root.timestamp("at"),
            let files = root["files"]?.int, let bytes = root["bytes"]?.int,
            let sumsHash = root["sha256"]?.string
        else { throw .damaged("its manifest lacks a member") }
        self.init(
            id: id, store: store, version: version, record: record, at: at,
            program: root["program"]?.string ?? "", files: files, bytes: bytes, sumsHash: sumsHash)
    }
}
