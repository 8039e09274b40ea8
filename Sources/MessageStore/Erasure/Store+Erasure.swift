package import BusinessMessages
import Logging

/// Erasing customers while no server runs.
extension Store {
    /// Counts what an erasure of these customers would reach; changes nothing, and needs no lock.
    ///
    /// While a server runs, the numbers may be outdated at once.
    package static func previewErasure(
        of customers: Set<CustomerID>, in directory: String
    ) throws(StoreError) -> CustomerErasure.Report {
        let data = DataDirectory(path: directory)
        try data.check()
        let erasure = CustomerErasure(data, CustomerErasure.Settings())
        let all = try erasure.linked(to: customers)
        let scope = try erasure.find(all)
        var report = CustomerErasure.Report()
        report.conversations = scope.conversations.count
        report.records = scope.subjects.count
        report.contents = scope.contents.count
        report.unreached = try erasure.quarantinedSegments()
        report.linked = all.subtracting(customers)
        return report
    }

    /// Returns the other identifiers of the person with this one, to whom this server sent an invitation that
    /// was accepted; needs no lock.
    package static func linkedCustomers(
        to customer: CustomerID, in directory: String
    ) throws(StoreError) -> Set<CustomerID> {
        let data = DataDirectory(path: directory)
        try data.check()
        return try CustomerErasure(data, CustomerErasure.Settings()).linked(to: [customer])
            .subtracting([customer])
    }

    /// Erases these customers from a data directory that no server uses; acquires its lock.
    package static func erase(
        _ customers: Set<CustomerID>, in directory: String, _ settings: CustomerErasure.Settings
    ) throws(StoreError) -> CustomerErasure.Report {
        let data = DataDirectory(path: directory)
        let lock = try data.take()
        guard let permit = try FileChangePermit(dataDirectory: directory) else {
            throw .backupRunning(process: nil)
        }
        defer { withExtendedLifetime(permit) {} }
        // The lock is held until the function returns.
        return try withExtendedLifetime(lock) { () throws(StoreError) in
            _ = try data.identity()
            let erasure = CustomerErasure(data, settings)
            _ = try erasure.resume()
            let all = try erasure.linked(to: customers)
            let scope = try erasure.find(all)
            guard !scope.conversations.isEmpty else {
                var report = CustomerErasure.Report()
                report.unreached = try erasure.quarantinedSegments()
                return report
            }
            var report = try erasure.run(scope)
            report.linked = all.subtracting(customers)
            return report
        }
    }
}

/// The ledger of erasures.
extension Store {
    /// Throws a ``StoreError`` when the ledger cannot be used, so that erasures and backups would be refused.
    package func checkLedger() throws(StoreError) {
        try LedgerFile(erasures.ledger, in: DataDirectory(path: directory)).check()
    }

    /// Returns the keyed hash of a conversation; empty when the ledger cannot be used.
    ///
    /// The first call creates the ledger.
    package func ledgerNames(of customer: CustomerID, _ business: BusinessID) -> [String] {
        Self.ledgerNames(of: [(customer, business)], in: directory, erasures) { error in
            logger.warning("the ledger of erasures cannot be used", metadata: ["error": "\(error)"])
        }
    }

    /// Returns the keyed hashes of conversations in this data directory; empty when the ledger cannot be used.
    ///
    /// The first call creates the ledger. Without a ledger, the audit log names no conversation.
    package static func ledgerNames(
        of conversations: [(CustomerID, BusinessID)], in directory: String,
        _ settings: CustomerErasure.Settings, report: (StoreError) -> Void = { _ in }
    ) -> [String] {
        do throws(StoreError) {
            let file = LedgerFile(settings.ledger, in: DataDirectory(path: directory))
            let permit = try FileChangePermit(dataDirectory: directory)
            defer { withExtendedLifetime(permit) {} }
            // While a backup runs, only the backup may create the ledger.
            guard let ledger = permit == nil ? try file.read() : try file.open() else { return [] }
            return conversations.map { customer, business in
                ledger.name(of: ErasedConversation(ConversationKey(business: business, customer: customer)))
            }
        } catch {
            report(error)
            return []
        }
    }
}

extension CustomerErasure {
    /// Erases each conversation that the ledger lists as erased for this backup, from a restored directory.
    ///
    /// The ledger is not changed. After a crash, the whole restoration must be repeated.
    func apply(_ ledger: ErasureLedger, to backup: BackupManifest) throws(StoreError) -> Report {
        var found: [ErasureLedger.Match: Set<ErasedConversation>] = [:]
        for conversation in try conversations() {
            guard var match = ledger.match(conversation, in: backup) else { continue }
            match.through = min(match.through, backup.record)
            found[match, default: []].insert(conversation)
        }
        var report = Report()
        report.unreached = try quarantinedSegments()
        for (match, conversations) in found.sorted(by: { $0.key.through < $1.key.through }) {
            let part = try complete(
                collect(conversations, through: match.through, paymentsThrough: match.paymentsThrough))
            report.conversations += part.conversations
            report.records += part.records
            report.contents += part.contents
            report.unreached = part.unreached
        }
        return report
    }

    /// Every conversation that the journal, the open requests or a conversation's file names.
    func conversations() throws(StoreError) -> Set<ErasedConversation> {
        var conversations: Set<ErasedConversation> = []
        try forEachKey { conversations.insert(ErasedConversation($0)) }
        try forEachFolder { path, business, names throws(StoreError) in
            for name in names {
                guard let text = try files.read(path + "/" + name),
                    let first = text.split(separator: UInt8(ascii: "\n")).lazy
                        .compactMap({ ConversationLine(Array($0)) }).first
                else { continue }
                conversations.insert(ErasedConversation(business: business, customer: first.customer))
            }
        }
        return conversations
    }
}
