import BalloonPOSIX
import BalloonWire

/// The directory of all stored data: its layout, its version and its owner.
struct DataDirectory: Sendable {
    let path: String

    var journal: String { path + "/journal" }
    var conversations: String { path + "/conversations" }
    /// Quarantined conversations, with the same relative paths as in the folder of all conversations.
    var damaged: String { path + "/damaged" }
    /// Damaged journal segments from before a repair, with the repair reports.
    var damagedJournal: String { damaged + "/journal" }
    /// The snapshot of the journal, which shortens the next start.
    var snapshot: String { path + "/snapshot" }
    /// The index of conversations, kept while lists are needed.
    var conversationIndex: String { path + "/conversation-index" }
    /// The handlers' states of conversations.
    var states: String { path + "/states" }
    /// The assignments of conversations.
    var assignments: String { path + "/assignments" }
    /// The open requests to sign in or to pay.
    var requests: String { path + "/requests" }
    /// The contents of attachments.
    var attachments: String { path + "/attachments" }
    /// The records of payments.
    var payments: String { path + "/payments" }
    /// The files of handlers' processes.
    var handlers: String { path + "/handlers" }
    /// The contents that Apple stores.
    var uploads: String { path + "/uploads.jsonl" }
    /// The file of an erasure of customers that has begun and not ended.
    var erasing: String { path + "/erasing" }
    /// The folders with a file for each conversation, named by the hash of the customer.
    var conversationFolders: [String] { [conversations, damaged, states, assignments] }
    /// The ledger of erasures, unless the configuration names another path.
    var erasures: String { path + "/" + ErasureLedger.fileName }
    /// The manifest of the latest complete backup.
    var lastBackup: String { path + "/backup.json" }
    /// A restoration that has begun and not ended.
    var restoring: String { path + "/restoring" }
    /// The backup from which this directory was restored.
    var restored: String { path + "/restored" }
    /// The deliveries that handlers currently process.
    var calls: String { path + "/calls" }
    /// The lock of a running backup.
    var backupLock: String { path + "/backup.lock" }
    private var identityFile: String { path + "/identity" }
    private var lockFile: String { path + "/lock" }
    var versionFile: String { path + "/VERSION" }
    private static let version = "2\n"
    /// The versions that a start migrates; version 1 has no `erased` records, and needs no other change.
    private static let earlierVersions: Set = ["1\n"]

    /// Creates missing parts and acquires the lock.
    func take(isRestoring: Bool = false) throws(StoreError) -> FileLock {
        if !isRestoring { try checkRestored() }
        try run(path) { () throws(SystemError) in try Directory.make(path) }
        let lock: FileLock
        do throws(SystemError) { lock = try FileLock(lockFile) } catch {
            if error.wouldBlock { throw .inUse(path: path, process: FileLock.owner(of: lockFile)) }
            throw .unavailable(path: lockFile, error)
        }
        try checkVersion()
        for folder in [journal, conversations] {
            try run(folder) { () throws(SystemError) in try Directory.make(folder) }
        }
        try run(path) { () throws(SystemError) in
            try Directory.synchronize(path)
            try Directory.synchronize(Directory.parent(of: path))
        }
        return lock
    }

    /// The identity as its file has it; empty when that is unreadable.
    func identityInFile() -> String {
        // A file that does not fit an empty identity is reported.
        let bytes = (try? File(identityFile, for: .reading).readAll()) ?? []
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// The directory's identity, 32 hexadecimal digits, created once; the caller has the lock.
    func identity() throws(StoreError) -> String {
        do throws(SystemError) {
            let found = String(decoding: try File(identityFile, for: .reading).readAll(), as: UTF8.self)
            let digits = found.prefix { $0 != "\n" }
            if digits.utf8.count == 32 { return String(digits) }
        } catch {
            guard error.isMissing else { throw .unavailable(path: identityFile, error) }
        }
        let new = Hex.encode(Secret.random(byteCount: 16).bytes)
        try run(identityFile) { () throws(SystemError) in
            try AtomicFile.write(Array((new + "\n").utf8), to: identityFile)
        }
        return new
    }

    /// Returns the version; throws ``StoreError/noData(path:)`` when no store created the directory,
    /// ``StoreError/restoreUnfinished(path:)``, ``StoreError/unknownVersion(found:path:)``, and
    /// ``StoreError/unavailable(path:_:)`` when the version cannot be read.
    @discardableResult
    func check() throws(StoreError) -> String {
        try checkRestored()
        let found: [UInt8]
        do throws(SystemError) { found = try File(versionFile, for: .reading).readAll() } catch {
            guard error.isMissing else { throw .unavailable(path: versionFile, error) }
            if Directory.exists(journal) { throw .unknownVersion(found: "", path: path) }
            throw .noData(path: path)
        }
        try checkVersion(found)
        return String(decoding: found.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private func checkRestored() throws(StoreError) {
        if Directory.exists(restoring) { throw .restoreUnfinished(path: path) }
    }

    private func checkVersion() throws(StoreError) {
        guard Directory.exists(versionFile) else {
            // A journal without a version is not an empty directory.
            if Directory.exists(journal) { throw .unknownVersion(found: "", path: path) }
            return try run(versionFile) { () throws(SystemError) in
                try AtomicFile.write(Array(Self.version.utf8), to: versionFile)
            }
        }
        let found = try run(versionFile) { () throws(SystemError) in
            try File(versionFile, for: .reading).readAll()
        }
        try checkVersion(found)
        if found != Array(Self.version.utf8) {
            try run(versionFile) { () throws(SystemError) in
                try AtomicFile.write(Array(Self.version.utf8), to: versionFile)
            }
        }
    }

    private func checkVersion(_ found: [UInt8]) throws(StoreError) {
        let text = String(decoding: found.prefix(64), as: UTF8.self)
        guard text == Self.version || Self.earlierVersions.contains(text) else {
            throw .unknownVersion(found: text.filter { $0 != "\n" }, path: path)
        }
    }

    @discardableResult
    private func run<Result>(
        _ path: String, _ body: () throws(SystemError) -> Result
    ) throws(StoreError) -> Result {
        do throws(SystemError) { return try body() } catch { throw .unavailable(path: path, error) }
    }
}

extension Store {
    /// Throws unless a store created this data directory and this program supports its version.
    ///
    /// Throws ``StoreError/noData(path:)``, ``StoreError/unknownVersion(found:path:)`` or
    /// ``StoreError/unavailable(path:_:)``; acquires no lock and changes nothing.
    package static func check(_ directory: String) throws(StoreError) {
        try DataDirectory(path: directory).check()
    }
}
