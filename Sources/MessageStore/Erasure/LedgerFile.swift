import BalloonPOSIX
import BalloonWire
import Synchronization

/// The file of a data directory's ledger of erasures, and the mark by which the directory recognizes the ledger.
///
/// `DATA/ledger-mark` has the SHA-256 of the ledger's key, 64 hexadecimal digits. A missing ledger, or one with another key, is
/// therefore refused: an erasure in a new ledger would be unknown when an older backup is restored. Such a ledger appears when
/// the volume of the ledger is not mounted, or when a command gets no configuration.
struct LedgerFile: Sendable {
    /// The path of the ledger.
    let path: String
    private let mark: String
    private let files: DataFiles

    /// Held while a ledger is created, so that two callers in this process create one.
    ///
    /// Other processes are excluded by ``BackupPin``, ``FileChangePermit`` and the lock of the data directory.
    private static let creating = Mutex<Void>(())

    /// Names the ledger at `path`, or the one in the data directory.
    init(_ path: String?, in directory: DataDirectory, _ files: DataFiles = DataFiles()) {
        self.path = path ?? directory.erasures
        mark = directory.ledgerMark
        self.files = files
    }

    /// Returns the ledger; nil before the first erasure and the first backup.
    ///
    /// Throws ``StoreError/ledgerMissing(path:)``, ``StoreError/otherLedger(path:)``, ``StoreError/damaged(file:line:)`` or
    /// ``StoreError/unavailable(path:_:)``.
    func read() throws(StoreError) -> ErasureLedger? {
        let known = try files.read(mark).map { String(decoding: $0.prefix(64), as: UTF8.self) }
        guard let ledger = try ErasureLedger(path) else {
            if known != nil { throw .ledgerMissing(path: path) }
            return nil
        }
        if let known, known != ledger.keyHash { throw .otherLedger(path: path) }
        return ledger
    }

    /// Returns the ledger, created when there is none; the caller holds a ``FileChangePermit`` or a ``BackupPin``.
    func open() throws(StoreError) -> ErasureLedger {
        try Self.creating.withLock { _ throws(StoreError) in
            let known = try read()
            let ledger = known ?? ErasureLedger()
            if known == nil { try replace(with: ledger) }
            if try files.read(mark) == nil {
                try files.replace(mark, with: Array((ledger.keyHash + "\n").utf8))
            }
            return ledger
        }
    }

    /// Throws the error of ``read()``, or ``StoreError/unavailable(path:_:)`` when the ledger's folder cannot be written.
    func check() throws(StoreError) {
        _ = try read()
        let folder = Directory.parent(of: path)
        try StoreError.naming(folder) { () throws(SystemError) in try Directory.checkWritable(folder) }
    }

    /// Replaces the content of the file.
    func replace(with ledger: ErasureLedger) throws(StoreError) {
        try files.replace(path, with: ledger.bytes)
    }
}
