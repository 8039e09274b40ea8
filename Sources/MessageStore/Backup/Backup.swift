package import BalloonPOSIX
import BalloonWire

/// Copies a data directory into a tar archive, beside a running server or without one.
///
/// ```
///   pin ──> conversations, damaged, states ──> journal up to its last record N
///       ──> contents that these name ──> payments and other files ──> SHA256SUMS, manifest.json
/// ```
///
/// The journal is copied after the conversations, so it has every line that a copied conversation lacks.
/// Until the backup ends, the pin prevents files from being deleted or rewritten. Not copied: open requests
/// with their secrets, files of handlers, locks, sockets, caches, and the files of `balloon dev`.
package struct Backup {
    /// Receives the next piece of an archive; an error that it throws ends the backup.
    package typealias Sink = (_ piece: [UInt8]) throws(SystemError) -> Void
    /// Returns the next bytes of an archive, at most `maximumBytes`; an empty array at the archive's end.
    package typealias Source = (_ maximumBytes: Int) throws(SystemError) -> [UInt8]

    /// The result of a backup.
    package struct Report: Hashable, Sendable {
        /// The manifest that the archive ends with.
        package let manifest: BackupManifest
        /// The number of contents that a conversation names but the directory no longer has.
        package let missingContents: Int
    }

    /// The folders with conversations, which are copied before the journal.
    static let conversationFolders = ["conversations", "damaged", "states"]
    /// The folders that are copied after the contents, followed by `otherFiles`.
    static let otherFolders = ["payments", "retention", "onboarding", "figures", "saved-files"]
    static let otherFiles = ["people.json", "saved-replies.json", "removed.json", "audit.jsonl"]
    /// The folders in backups of earlier versions, which the start after a restoration removes.
    static let formerFolders = ["assignments"]
    static let journalFolder = "journal"
    static let contentFolder = "attachments"

    private let directory: DataDirectory
    private let pin: BackupPin
    private var archive: BackupWriter
    /// The hashes of the contents that the copied files name.
    private var contents: Set<String> = []

    /// Copies the directory; `sink` receives the archive in pieces.
    ///
    /// `program` is the version of the program. Before anything is copied, a line with the backup's
    /// identifier is appended to the ledger of erasures in `settings`. Throws a ``BackupError``, or a
    /// ``StoreError``: ``StoreError/backupRunning(process:)``, ``StoreError/filesChanging``,
    /// ``StoreError/noData(path:)`` or ``StoreError/unavailable(path:_:)``.
    package static func write(
        of dataDirectory: String, _ settings: CustomerErasure.Settings, program: String,
        to sink: @escaping Sink
    ) async throws -> Report {
        let directory = DataDirectory(path: dataDirectory)
        let version = try directory.check()
        let pin = try await BackupPin(dataDirectory: dataDirectory)
        let (id, at) = (Hex.encode(Secret.random(byteCount: 16).bytes), Timestamp.now())
        let ledgerFile = LedgerFile(settings.ledger, in: directory)
        // A copy of the ledger from before the line: a ledger that knows the backup is newer than the backup.
        let ledger = settings.ledger == nil ? try DataFiles().read(ledgerFile.path) : nil
        var newLedger = try ledgerFile.open()
        newLedger.add(backup: id, at: at, keepingDays: settings.ledgerDays)
        try ledgerFile.replace(with: newLedger)
        var backup = Backup(directory: directory, pin: pin, archive: BackupWriter(to: sink))
        let (record, missing) = try backup.copyAll()
        if let ledger {
            try backup.archive.add(
                ledger, as: ErasureLedger.fileName, modifiedAt: Int(at.milliseconds / 1000))
        }
        let manifest = try backup.archive.finish { files, bytes, sumsHash in
            BackupManifest(
                id: id, store: directory.identityInFile(), version: version, record: record, at: at,
                program: program, files: files, bytes: bytes, sumsHash: sumsHash)
        }
        if pin.isExpired { throw BackupError.expired }
        return Report(manifest: manifest, missingContents: missing)
    }

    /// Writes the manifest to `DATA/backup.json`; its modification time is that of the latest backup.
    package static func recordSuccess(
        _ report: Report, in dataDirectory: String
    ) throws(StoreError) {
        let path = DataDirectory(path: dataDirectory).lastBackup
        try DataFiles().replace(path, with: report.manifest.content)
    }

    /// Returns the time of the latest complete backup, to the second; nil when none is known.
    package static func lastSuccess(in dataDirectory: String) -> Timestamp? {
        let path = DataDirectory(path: dataDirectory).lastBackup
        return (try? FileStatus.modifiedSecondsSince1970(path)).map {
            Timestamp(milliseconds: Int64($0) * 1000)
        }
    }

    private mutating func copyAll() throws -> (lastRecord: UInt64, missingContents: Int) {
        for folder in Self.conversationFolders { try copyFolder(folder, isScanned: true) }
        let last = try copyJournal()
        var missing = 0
        for (folder, hashes) in Dictionary(grouping: contents, by: { $0.prefix(2) }).sorted(by: {
            $0.key < $1.key
        }) {
            let path = "\(Self.contentFolder)/\(folder)/"
            for content in hashes.sorted() where try !copy(path + content) { missing += 1 }
            // The files beside a content that say which business uses it.
            let wanted = Set(hashes)
            for name in try names(in: path)
            where name.utf8.count > 64 && wanted.contains(String(name.prefix(64))) {
                try copy(path + name)
            }
        }
        contents = []
        for folder in Self.otherFolders { try copyFolder(folder, isScanned: false) }
        for file in Self.otherFiles { try copy(file) }
        return (last, missing)
    }

    /// Copies every file of a folder and its subfolders, in the byte order of the names.
    private mutating func copyFolder(_ path: String, isScanned: Bool) throws {
        for name in try names(in: path) {
            let inner = path + "/" + name
            if Directory.isDirectory(directory.path + "/" + inner) {
                try copyFolder(inner, isScanned: isScanned)
            } else if !name.hasSuffix(".new") {
                // A name that ends in ".new" is the temporary file of a replacement that was interrupted.
                try copy(inner, isScanned: isScanned)
            }
        }
    }

    /// Copies the segments up to the last record that is in the files now; returns its number.
    private mutating func copyJournal() throws -> UInt64 {
        let reader = try JournalReader(directory.journal)
        let last = try reader.end()
        for name in try names(in: Self.journalFolder) where !name.hasSuffix(".new") {
            let path = Self.journalFolder + "/" + name
            let segment = SegmentName.firstRecord(name)
            if let segment, let last, segment > last.segment { continue }
            let isLast = segment != nil && segment == last?.segment
            try copy(path, isScanned: true, endBytes: isLast ? last?.endBytes : nil)
        }
        return last?.record ?? 0
    }

    /// Copies a file; returns false when it does not exist.
    ///
    /// A `.jsonl` file outside the journal may be growing, so only its complete lines are copied. `endBytes`
    /// limits the size.
    @discardableResult
    private mutating func copy(
        _ path: String, isScanned: Bool = false, endBytes: Int? = nil
    ) throws -> Bool {
        if pin.isExpired { throw BackupError.expired }
        let source = directory.path + "/" + path
        do {
            let file = try File(source, for: .reading)
            var size = try file.sizeBytes()
            if let endBytes {
                size = min(size, endBytes)
            } else if path.hasSuffix(".jsonl"), !path.hasPrefix(Self.journalFolder) {
                size = try ConversationTail.lines(of: file, endingAt: size, maximum: 1).completeBytes
            }
            var scan = ContentScan()
            try archive.add(
                file, as: path, sizeBytes: size,
                modifiedAt: try FileStatus.modifiedSecondsSince1970(source)
            ) { if isScanned { scan.take($0) } }
            contents.formUnion(scan.hashes)
            return true
        } catch let error as SystemError {
            // The file was moved to quarantine, or expired and was removed, after its folder was listed.
            if error.isMissing { return false }
            throw StoreError.unavailable(path: source, error)
        }
    }

    private func names(in path: String) throws -> [String] {
        try DataFiles().names(in: directory.path + "/" + path)
    }
}

/// Collects the hashes of the contents that a file names, from the pieces of the file.
private struct ContentScan {
    private(set) var hashes: Set<String> = []
    /// The end of the last piece, which may hold the beginning of a hash.
    private var rest: [UInt8] = []
    /// The size of `rest`; more than the longest JSON member with a hash.
    private static let overlapBytes = 96

    mutating func take(_ piece: ArraySlice<UInt8>) {
        let text = rest + piece
        hashes.formUnion(ContentReferences.hashes(in: text[...]))
        rest = Array(text.suffix(Self.overlapBytes))
    }
}
