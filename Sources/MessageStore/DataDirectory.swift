package import BalloonPOSIX
import BalloonWire

/// The data directory: the paths of its files, and its version, identity and lock.
struct DataDirectory: Sendable {
    let path: String

    var journal: String { path + "/journal" }
    var conversations: String { path + "/conversations" }
    /// The folder of quarantined conversations; each file keeps its path below ``conversations``.
    var damaged: String { path + "/damaged" }
    /// The folder of a repair: copies of damaged journal segments from before the repair, and its report.
    var damagedJournal: String { damaged + "/journal" }
    /// The snapshot of the journal, which shortens the next start.
    var snapshot: String { path + "/snapshot" }
    /// The folder of the files of known messages: see ``KnownMessages``.
    var knownMessages: String { path + "/known-messages" }
    /// The file of the index of conversations; it exists only with ``StoreConfiguration/keepsIndex``.
    var conversationIndex: String { path + "/conversation-index" }
    /// The folder of the states that handlers keep for conversations.
    var states: String { path + "/states" }
    /// The folder in which earlier versions kept a copy of each assignment for commands.
    private var formerAssignments: String { path + "/assignments" }
    /// The open requests to sign in or to pay.
    var requests: String { path + "/requests" }
    /// The contents of attachments.
    var attachments: String { path + "/attachments" }
    /// The records of payments.
    var payments: String { path + "/payments" }
    /// The folder in which the processes of handlers keep their files.
    var handlers: String { path + "/handlers" }
    /// The file that lists the contents that were uploaded to Apple.
    var uploads: String { path + "/uploads.jsonl" }
    /// The file that exists from the first step of an erasure of customers to the last.
    var erasing: String { path + "/erasing" }
    /// The folders that have one file for each conversation, under a name derived from the customer's hash.
    var conversationFolders: [String] { [conversations, damaged, states] }
    /// The ledger of erasures, unless the configuration names another path.
    var erasures: String { path + "/" + ErasureLedger.fileName }
    /// The hash of the ledger's key; see ``LedgerFile``.
    var ledgerMark: String { path + "/ledger-mark" }
    /// The manifest of the latest complete backup.
    var lastBackup: String { path + "/backup.json" }
    /// The file that exists from the first step of a restoration to the last.
    var restoring: String { path + "/restoring" }
    /// The file that names the backup from which this directory was restored.
    var restored: String { path + "/restored" }
    /// The file of the messages that are being resolved, recorded or delivered: see ``InFlightCalls``.
    var calls: String { path + "/calls" }
    /// The lock of a running backup.
    var backupLock: String { path + "/backup.lock" }
    private var files: DataFiles { DataFiles() }
    private var identityFile: String { path + "/identity" }
    private var recordKeyFile: String { path + "/record-key" }
    private var lockFile: String { path + "/lock" }
    /// The file that says that a database keeps this directory's files.
    private var replicaMark: String { path + "/replica" }
    var versionFile: String { path + "/VERSION" }
    /// The number of the data directory's format, which is independent of the program's version.
    static let formatVersion = 3
    private static let version = "\(formatVersion)\n"
    /// The older versions that a start upgrades to the current version.
    ///
    /// Version 2 differs from version 1 only in that its journal may have `erased` records.
    /// Version 3 has internal messages: an earlier program would pass a note to the handler, and ignore a withdrawn consent.
    private static let earlierVersions: Set = ["1\n", "2\n"]

    /// Acquires the lock, unless the caller holds it; checks the version, and creates missing folders and the
    /// version file.
    func take(_ held: FileLock? = nil, isRestoring: Bool = false) throws(StoreError) -> FileLock {
        if !isRestoring { try checkRestored() }
        if Directory.exists(replicaMark), DurableCopies.of(path + "/.") == nil {
            throw .copyOfDatabase(path: path)
        }
        let own = held == nil ? try lock() : nil
        guard let lock = held ?? own else {
            throw .inUse(path: path, process: FileLock.owner(of: lockFile))
        }
        let current = Array(Self.version.utf8)
        if try knownVersion() != current { try files.replace(versionFile, with: current) }
        try StoreError.naming(formerAssignments) { () throws(SystemError) in
            if Directory.exists(formerAssignments) { try Directory.removeAll(formerAssignments) }
        }
        for folder in [journal, conversations] {
            try StoreError.naming(folder) { () throws(SystemError) in try Directory.make(folder) }
        }
        try StoreError.naming(path) { () throws(SystemError) in
            try Directory.synchronize(path)
            try Directory.synchronize(Directory.parent(of: path))
        }
        return lock
    }

    /// Acquires the lock of the directory, which is created if absent; nil while another process holds it.
    func lock() throws(StoreError) -> FileLock? {
        try StoreError.naming(path) { () throws(SystemError) in try Directory.make(path) }
        do throws(SystemError) { return try FileLock(lockFile) } catch {
            if error.wouldBlock { return nil }
            throw .unavailable(path: lockFile, error)
        }
    }

    /// Returns the identity from its file; an empty text when the file is unreadable.
    func identityInFile() -> String {
        // With an empty identity, verification reports the index file as the file of another directory.
        let bytes = (try? File(identityFile, for: .reading).readAll()) ?? []
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    /// Returns the directory's identity, 32 hexadecimal digits, and creates it if absent.
    ///
    /// The caller must hold the lock.
    func identity() throws(StoreError) -> String {
        if let found = try files.read(identityFile) {
            let digits = String(decoding: found, as: UTF8.self).prefix { $0 != "\n" }
            if digits.utf8.count == 32 { return String(digits) }
        }
        let new = Hex.encode(Secret.random(byteCount: 16).bytes)
        try files.replace(identityFile, with: Array((new + "\n").utf8))
        return new
    }

    /// Returns the key that seals record numbers, and creates it if absent.
    ///
    /// The caller must hold the lock.
    func recordKey() throws(StoreError) -> Secret {
        // A damaged key is replaced: numbers that were sealed with it name no record any longer.
        if let found = try files.read(recordKeyFile),
            let bytes = try? Hex.decode(String(decoding: found.prefix { $0 != 0x0A }, as: UTF8.self)),
            bytes.count == 32, let key = try? Secret(bytes)
        {
            return key
        }
        let new = Secret.random(byteCount: 32)
        try files.replace(recordKeyFile, with: Array((Hex.encode(new.bytes) + "\n").utf8))
        return new
    }

    /// Checks that a store created the directory and that this program supports its version; returns the
    /// version.
    ///
    /// Throws ``StoreError/noData(path:)`` when no store created the directory,
    /// ``StoreError/restoreUnfinished(path:)``, ``StoreError/unknownVersion(found:path:)``, and
    /// ``StoreError/unavailable(path:_:)`` when the version cannot be read.
    @discardableResult
    func check() throws(StoreError) -> String {
        try checkRestored()
        guard let found = try knownVersion() else { throw .noData(path: path) }
        return String(decoding: found.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }

    private func checkRestored() throws(StoreError) {
        if Directory.exists(restoring) { throw .restoreUnfinished(path: path) }
    }

    /// Returns the content of the version file; nil in a new directory.
    ///
    /// Throws for a version that is unknown.
    private func knownVersion() throws(StoreError) -> [UInt8]? {
        guard let found = try files.read(versionFile) else {
            // A directory with a journal but without a version file is not new: its version is unknown.
            if Directory.exists(journal) { throw .unknownVersion(found: "", path: path) }
            return nil
        }
        let text = String(decoding: found.prefix(64), as: UTF8.self)
        guard text == Self.version || Self.earlierVersions.contains(text) else {
            throw .unknownVersion(found: text.filter { $0 != "\n" }, path: path)
        }
        return found
    }
}

extension Store {
    /// Throws unless a store created this data directory and this program supports its version.
    ///
    /// Throws ``StoreError/noData(path:)``, ``StoreError/restoreUnfinished(path:)``,
    /// ``StoreError/unknownVersion(found:path:)`` or ``StoreError/unavailable(path:_:)``. Acquires no lock
    /// and changes nothing.
    package static func check(_ directory: String) throws(StoreError) {
        try DataDirectory(path: directory).check()
    }
}

extension Store {
    /// Acquires the lock of a data directory, for ``StoreConfiguration/lock``; nil while another process holds it.
    package static func lockDirectory(_ directory: String) throws(StoreError) -> FileLock? {
        try DataDirectory(path: directory).lock()
    }

    /// The number of the data directory's format, which is independent of the program's version.
    package static var dataFormat: Int { DataDirectory.formatVersion }
}
