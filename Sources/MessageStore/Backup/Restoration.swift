import BalloonJSON
import BalloonPOSIX
package import Logging

/// Restores a backup into an empty directory.
///
/// ```
///   archive ──> files, checked against the manifest ──> ledger: erased customers are erased again
///           ──> store: missing lines and states from the journal ──> a new identity
/// ```
///
/// `DATA/restoring` exists from the first step to the last, and prevents any program from opening the
/// directory. After an error or a crash, the directory must be emptied and the backup restored again.
package struct Restoration {
    /// The options of a restoration.
    package struct Options: Sendable {
        /// The ledger of erasures to apply; nil to restore customers that were erased since the backup.
        package var ledger: ErasureLedger?
        /// The path of the ledger, for errors.
        package var ledgerPath = ""
        /// Whether unfinished messages and replies are delivered and sent; if not, they become dead letters.
        package var delivers = false
        /// The ledger of the restored server, and whether the lines of erased customers' payments stay.
        package var erasures = CustomerErasure.Settings()

        /// Creates the options of a restoration without a ledger of erasures.
        package init() {}
    }

    /// The result of a restoration.
    package struct Report: Sendable {
        /// The backup's manifest.
        package let manifest: BackupManifest
        /// The customers that were erased again because the ledger names them.
        package let erased: CustomerErasure.Report
    }

    private let directory: DataDirectory
    private let options: Options
    private let logger: Logger

    /// Restores a backup, and returns when all of it is on disk.
    ///
    /// Throws a ``BackupError``, or a ``StoreError``.
    package static func run(
        from source: @escaping Backup.Source, into dataDirectory: String,
        _ options: Options, logger: Logger
    ) async throws -> Report {
        let restoration = Restoration(
            directory: DataDirectory(path: dataDirectory), options: options, logger: logger)
        let manifest = try restoration.extract(source)
        let erased = try restoration.applyLedger(to: manifest)
        try await restoration.rebuild()
        try restoration.finish()
        return Report(manifest: manifest, erased: erased)
    }

    private func extract(_ source: @escaping Backup.Source) throws -> BackupManifest {
        let path = directory.path
        var names: [String] = []
        try StoreError.naming(path) { () throws(SystemError) in
            try Directory.make(path)
            names = try Directory.names(in: path)
        }
        // The root of an ext4 file system, which may be mounted as the directory, has this folder.
        guard names.allSatisfy({ $0 == "lost+found" }) else { throw BackupError.notEmpty(path: path) }
        try DataFiles().replace(directory.restoring, with: [])
        var reader = BackupReader(from: source, into: path)
        let manifest = try reader.extract()
        if let ledger = options.ledger, !ledger.knows(manifest) {
            throw BackupError.ledgerOlder(path: options.ledgerPath)
        }
        let mark = RestoredMark(
            backup: manifest.id, store: manifest.store, record: manifest.record,
            parkedThrough: options.delivers ? 0 : manifest.record, at: .now())
        try StoreError.naming(path) { () throws(SystemError) in
            try AtomicFile.write(mark.content, to: directory.restored)
            try AtomicFile.write(Array((manifest.version + "\n").utf8), to: directory.versionFile)
            try Directory.synchronizeFileSystem(of: path)
        }
        return manifest
    }

    /// Erases the customers that the ledger names, and writes the ledger for the restored server.
    private func applyLedger(to manifest: BackupManifest) throws(StoreError) -> CustomerErasure.Report {
        guard let ledger = options.ledger else { return CustomerErasure.Report() }
        let report = try CustomerErasure(directory, options.erasures).apply(ledger, to: manifest)
        let path = options.erasures.ledger ?? directory.erasures
        // An existing ledger outside the directory may be newer than this one or belong to another server, so
        // it stays.
        if options.erasures.ledger == nil || !Directory.exists(path) {
            try DataFiles().replace(path, with: ledger.bytes)
        }
        return report
    }

    /// Writes the conversations' lines and the handlers' states that the journal has and the files lack.
    private func rebuild() async throws {
        var configuration = StoreConfiguration(directory: directory.path)
        configuration.isRestoring = true
        let store = try Store.open(configuration, logger: logger)
        do {
            _ = try await store.rebuild()
            try await store.rebuildStates()
            await store.close()
        } catch {
            await store.close()
            throw error
        }
    }

    private func finish() throws(StoreError) {
        try StoreError.naming(directory.path) { () throws(SystemError) in
            try Directory.synchronizeFileSystem(of: directory.path)
            try Directory.remove(directory.restoring)
            try Directory.synchronize(directory.path)
        }
    }
}

extension Store {
    /// Stores the handlers' states and the details of customers that the journal has and the files lack.
    ///
    /// The backup copied the files before the journal, so the journal can have later states.
    fileprivate func rebuildStates() async throws {
        var fold = LineFold()
        var decisions: [(key: ConversationKey, record: UInt64, state: [UInt8])] = []
        try files.forEachRecord { located throws(StoreError) in
            let (record, number, location) = (located.record, located.number, located.location)
            _ = fold.apply(located)
            if let message = record.message, message.act == .internal, message.replayOf == nil,
                let text = try reader.line(at: location).root["message"]?.text
            {
                try states.apply(Array(text), recordedBy: number, of: message.conversation)
            }
            guard let subject = record.subject, let message = fold[subject],
                message.state.decision?.record == number,
                let state = try reader.line(at: location).root["state"]
            else { return }
            decisions.append((message.conversation, number, Array(state.text)))
        }
        for decision in decisions {
            try await remember(decision.state, decidedBy: decision.record, in: decision.key)
        }
    }
}
