package import MessageStore

/// The limits of the store's memory, and its deduplication window.
///
/// ```json
/// { "deduplicationHours": 72, "maximumRememberedMessages": 4000000, "maximumPendingDeliveries": 1000000,
///   "minimumFreeMegabytes": 64 }
/// ```
package struct StoreSettings: Sendable, Equatable {
    /// The minimum time for which the server recognizes a repeated message; JSON: `deduplicationHours`.
    package var deduplicationWindow: Duration
    /// The maximum number of messages remembered for deduplication; at the limit, the deduplication window becomes
    /// shorter.
    package var maximumRememberedMessages: Int
    /// The maximum number of unfinished messages; at the limit, new ones get 503.
    package var maximumPendingDeliveries: Int
    /// The free bytes on the data directory's disk below which the server is not ready; 0 disables the check.
    ///
    /// JSON: `minimumFreeMegabytes`.
    package var minimumFreeBytes: UInt64 = 64 << 20

    /// The path of the ledger of erasures; nil for `erasures.jsonl` in the data directory.
    package var erasureLedger: String?
    /// How many days the ledger keeps an entry; nil for ever.
    package var erasureLedgerDays: Int?
    /// How many days the audit log keeps a line.
    package var auditDays = 730
    /// The database that keeps the data directory's files; nil when the disk does.
    var postgres: PostgresReference?

    /// Creates the defaults of the store.
    package init() {
        let defaults = StoreConfiguration(directory: "")
        deduplicationWindow = defaults.deduplicationWindow
        maximumRememberedMessages = defaults.maximumRememberedMessages
        maximumPendingDeliveries = defaults.maximumPendingDeliveries
    }

    /// Reads the settings that are present; absent ones keep their defaults.
    static func read(_ reader: inout ObjectReader) -> StoreSettings? {
        var settings = StoreSettings()
        reader.set(&settings.deduplicationWindow, "deduplicationHours", in: 1...8760, of: .seconds(3600))
        reader.set(&settings.maximumRememberedMessages, "maximumRememberedMessages", in: 1000...1_000_000_000)
        reader.set(&settings.maximumPendingDeliveries, "maximumPendingDeliveries", in: 1...1_000_000_000)
        if let megabytes = reader.integer("minimumFreeMegabytes", in: 0...1_000_000_000) {
            settings.minimumFreeBytes = UInt64(megabytes) << 20
        }
        settings.postgres = reader.object("postgres", PostgresReference.read)
        settings.erasureLedger = reader.text("erasureLedger")?.text
        // A relative path would name another file for a command that runs in another folder.
        if let ledger = settings.erasureLedger, !ledger.hasPrefix("/") {
            reader.problem(
                "has an \"erasureLedger\" that is not an absolute path",
                hint: "write a path that begins with /, or remove the key")
        }
        if settings.postgres != nil, settings.erasureLedger != nil {
            reader.problem(
                "has an \"erasureLedger\", which \"postgres\" would not keep",
                hint: "remove it: the ledger in the data directory is kept")
        }
        settings.erasureLedgerDays = reader.integer("erasureLedgerDays", in: 1...36_500)
        reader.set(&settings.auditDays, "auditDays", in: 1...36_500)
        return settings
    }

    /// Returns the configuration of a store in the data directory `directory`, with these settings.
    package func configuration(directory: String) -> StoreConfiguration {
        var configuration = StoreConfiguration(directory: directory)
        configuration.deduplicationWindow = deduplicationWindow
        configuration.maximumRememberedMessages = maximumRememberedMessages
        configuration.maximumPendingDeliveries = maximumPendingDeliveries
        configuration.erasures.ledger = erasureLedger
        configuration.erasures.ledgerDays = erasureLedgerDays
        return configuration
    }
}
