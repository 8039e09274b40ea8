import BalloonJSON
import BalloonPOSIX
package import BusinessMessages

/// Erases customers in a data directory that no store has open; the caller owns the directory.
///
/// 1. `find(_:)` reads which conversations the customers have, and what their lines refer to. 2. `run(_:)`
/// writes the job, and then the ledger. Then it erases in this order: every file other than those of the
/// journal, contents and conversations; the journal's lines; contents; conversations. Last, it removes the
/// job.
///
/// Every step may be repeated. After a crash at any step, `resume()` completes the erasure; a start of the
/// store calls it.
package struct CustomerErasure: Sendable {
    /// The result of an erasure, or of its preview.
    package struct Report: Hashable, Sendable {
        /// The number of conversations.
        package var conversations = 0
        /// The number of erased lines of the journal; in a preview, the number of messages and events.
        package var records = 0
        /// The number of contents of attachments.
        package var contents = 0
        /// The paths of files that the erasure does not change.
        ///
        /// These are quarantined segments, segments with a damaged line, and payments whose charge may have
        /// to be reversed.
        package var unreached: [String] = []
        /// The names of the conversations in the ledger.
        package var ledgerNames: [String] = []
        /// The other identifiers of the customers, by which their conversations were found too.
        package var linked: Set<CustomerID> = []

        /// Creates a report without any erased or unreached file.
        package init() {}
    }

    /// The settings of an erasure.
    package struct Settings: Sendable {
        /// The path of the ledger; nil for the one in the data directory.
        package var ledger: String?
        /// The number of days for which the ledger keeps an entry; nil keeps entries forever.
        package var ledgerDays: Int?
        /// Whether the customers' lines in the records of payments are kept.
        package var keepsPayments = false
        /// Runs its argument, which changes the records of payments, while no payment writes to them.
        package var excludingPayments: @Sendable (() -> Void) -> Void = { $0() }
        /// Runs the removal of contents of attachments while no message brings one.
        package var excludingContents: @Sendable (() -> Void) -> Void = { $0() }
        /// The contents of unfinished messages, which no record names yet.
        package var unrecordedContents: @Sendable () -> Set<String> = { [] }

        /// Creates the default settings.
        package init() {}
    }

    let directory: DataDirectory
    var files = DataFiles()
    var now = Timestamp.now()
    let settings: Settings

    init(_ directory: DataDirectory, _ settings: Settings) {
        self.directory = directory
        self.settings = settings
    }

    private var ledgerFile: LedgerFile { LedgerFile(settings.ledger, in: directory, files) }
    var journal: JournalErasure { JournalErasure(directory: directory.journal, files: files) }

    /// Finds these customers' conversations, with their records up to `through` or the journal's last one.
    func find(
        _ customers: Set<CustomerID>, through: UInt64? = nil
    ) throws(StoreError) -> ErasureScope {
        var conversations: Set<ErasedConversation> = []
        try forEachFile(of: customers, in: directory.conversationFolders) { conversation, _ in
            conversations.insert(conversation)
        }
        try forEachKey { key in
            if customers.contains(key.customer) { conversations.insert(ErasedConversation(key)) }
        }
        let last = if let through { through } else { try JournalReader(directory.journal).lastRecord() }
        return try collect(
            conversations, through: last, paymentsThrough: settings.keepsPayments ? nil : now)
    }

    /// Collects the records and contents that belong to these conversations.
    func collect(
        _ conversations: Set<ErasedConversation>, through: UInt64, paymentsThrough: Timestamp?
    ) throws(StoreError) -> ErasureScope {
        var scope = ErasureScope(conversations, through: through, paymentsThrough: paymentsThrough)
        for conversation in conversations {
            for folder in [directory.conversations, directory.damaged] {
                for path in try names(of: conversation, in: folder) {
                    if let text = try files.read(path) { scope.takeConversation(text) }
                }
            }
        }
        // Read twice: when a message's own segment is deleted, only a later record may show whose an earlier
        // one is.
        for _ in 0..<2 {
            try journal.forEachLine { record, number, line in scope.take(record, number: number, in: line) }
        }
        return scope
    }

    /// Calls `body` with the conversation of each line of the journal, and of each open request.
    func forEachKey(_ body: (ConversationKey) -> Void) throws(StoreError) {
        try journal.forEachLine { record, _, _ in record.conversation.map(body) }
        for folder in try files.folders(in: directory.requests) {
            for name in try files.names(in: directory.requests + "/" + folder) {
                let root = try files.read(directory.requests + "/" + folder + "/" + name).flatMap {
                    // A file that is not JSON names no conversation.
                    try? JSONDocument($0)
                }?.root
                root.flatMap { ConversationKey($0) }.map(body)
            }
        }
    }

    /// Calls `body` with each folder of conversations' files, its business and the names in it.
    ///
    /// Quarantined conversations are included. Only the folders of one business are visited if it is given.
    func forEachFolder(
        of business: String? = nil,
        _ body: (_ path: String, _ business: String, _ names: [String]) throws(StoreError) -> Void
    ) throws(StoreError) {
        for folder in [directory.conversations, directory.damaged] {
            for inner in try files.conversationFolders(in: folder) {
                let owner = String(inner.prefix { $0 != "/" })
                if let business, business != owner { continue }
                let path = folder + "/" + inner
                try body(path, owner, try files.names(in: path))
            }
        }
    }

    /// Calls `body` with each file of these customers in folders of conversations or states.
    func forEachFile(
        of customers: Set<CustomerID>, in folders: [String],
        _ body: (_ conversation: ErasedConversation, _ path: String) throws(StoreError) -> Void
    ) throws(StoreError) {
        for folder in folders {
            for business in try files.folders(in: folder) {
                for customer in customers {
                    let conversation = ErasedConversation(business: business, customer: customer)
                    for path in try names(of: conversation, in: folder) { try body(conversation, path) }
                }
            }
        }
    }

    /// Returns the paths of a conversation's files in a folder of conversations or states.
    ///
    /// These are the file itself, the temporary file of an interrupted replacement, and the old file after a
    /// rebuild.
    func names(of conversation: ErasedConversation, in folder: String) throws(StoreError) -> [String] {
        let parent = folder + "/" + Directory.parent(of: conversation.path)
        let name = ConversationPath.name(of: conversation.customer)
        return try files.names(in: parent).filter { $0.hasPrefix(name) }.map { parent + "/" + $0 }
    }

    /// Erases, after the job and the ledger are on disk.
    func run(_ scope: ErasureScope) throws(StoreError) -> Report {
        try begin(scope)
        var report = try complete(scope)
        report.ledgerNames = ledgerNames(scope)
        return report
    }

    /// Writes the job, which is the scope's file, and the ledger's lines.
    ///
    /// When the ledger cannot be written, nothing else has changed; a job that did not exist before is then removed, so that
    /// the next start does not try it.
    func begin(_ scope: ErasureScope) throws(StoreError) {
        let isNew = try files.read(directory.erasing) == nil
        try files.replace(directory.erasing, with: scope.bytes)
        do throws(StoreError) { try record(scope) } catch {
            // Ignore an error of the removal, because the first error is the one to report.
            if isNew { try? finish() }
            throw error
        }
    }

    /// The erasure that a crash or an error interrupted; nil when there is none.
    func unfinished() throws(StoreError) -> ErasureScope? {
        // An unfinished job file, whose erasure has not begun.
        try files.remove(in: directory.path) { name in name.hasPrefix("erasing.") }
        guard let bytes = try files.read(directory.erasing) else { return nil }
        guard let scope = ErasureScope(bytes) else { throw .damaged(file: directory.erasing, line: 1) }
        return scope
    }

    /// The scope with the records and contents that its messages got after its last record, from a handler or a download.
    func extended(_ scope: ErasureScope) throws(StoreError) -> ErasureScope {
        var scope = scope
        try journal.forEachLine(from: scope.through) { scope.take($0, number: $1, in: $2) }
        return scope
    }

    /// Completes an erasure that a crash interrupted; returns nil when there is none.
    ///
    /// When the ledger cannot be used, calls `postpone` and returns nil; the erasure stays unfinished. Without `postpone`, throws
    /// the error.
    func resume(orPostpone postpone: ((StoreError) -> Void)? = nil) throws(StoreError) -> Report? {
        guard let unfinished = try unfinished() else { return nil }
        do throws(StoreError) { try record(unfinished) } catch {
            guard let postpone else { throw error }
            // The caches may name messages that are erased already.
            try removeCaches()
            postpone(error)
            return nil
        }
        let scope = try extended(unfinished)
        try files.replace(directory.erasing, with: scope.bytes)
        return try complete(scope)
    }

    private func record(_ scope: ErasureScope) throws(StoreError) {
        // The ledger may have moved since the job was written; its key tells whether it is the same one.
        let file = ledgerFile
        var ledger = try file.open()
        ledger.add(
            scope, in: directory.identityInFile(), at: scope.paymentsThrough ?? now,
            keepsPayments: scope.paymentsThrough == nil, keepingDays: settings.ledgerDays)
        try file.replace(with: ledger)
    }

    /// The names in the ledger of the conversations of a scope.
    func ledgerNames(_ scope: ErasureScope) -> [String] {
        // The erasure succeeded; without a readable ledger, the audit log names no conversation.
        guard let ledger = try? ledgerFile.read() else { return [] }
        return scope.conversations.map { ledger.name(of: $0) }.sorted()
    }

    /// Removes the caches of the whole directory, which the next start makes again.
    private func removeCaches() throws(StoreError) {
        let caches = [directory.snapshot, directory.conversationIndex, directory.uploads]
        let prefixes = caches.map { $0.dropFirst(directory.path.utf8.count + 1) }
        try files.remove(in: directory.path) { name in prefixes.contains { name.hasPrefix($0) } }
    }

    func complete(_ scope: ErasureScope) throws(StoreError) -> Report {
        var report = Report()
        report.conversations = scope.conversations.count
        try removeCaches()
        try removeStates(scope)
        let busy = try removeRequests(scope, keepsRecords: scope.paymentsThrough == nil)
        try removeScratch(scope)
        try removePayments(scope)
        let (lines, damaged) = try journal.rewrite(scope)
        report.records = lines
        report.contents = try removeContents(scope)
        for conversation in scope.conversations { try removeLines(of: conversation, scope) }
        report.unreached = try damaged + busy + quarantinedSegments()
        try finish()
        return report
    }

    /// Removes the job, because the erasure is complete.
    func finish() throws(StoreError) {
        try files.remove(in: directory.path) { name in name == "erasing" }
    }

    /// Returns the paths of the quarantined segments, which an erasure does not change.
    func quarantinedSegments() throws(StoreError) -> [String] {
        let names = try files.names(in: directory.journal).filter {
            $0.hasSuffix(SegmentName.damagedSuffix) || $0.hasSuffix(".unreadable")
        }
        let copies = try files.names(in: directory.damagedJournal).filter { $0.hasSuffix(".jsonl") }
        return names.map { directory.journal + "/" + $0 } + copies.map { directory.damagedJournal + "/" + $0 }
    }
}
