import BalloonPOSIX
import BalloonWire
import BusinessMessages

/// The list of erasures, with which the restoration of a backup erases the same customers again.
///
/// The first line is `{"format":1,"key":"…"}` with a random key that only this ledger has. Each other line is
/// an erasure or a backup.
///
/// An erasure is `{"conversation":"…","through":57,"store":"…","at":"…"}`. `conversation` is the HMAC-SHA256
/// of business and customer under the key. `through` is the last erased record, `store` the identity of the
/// data directory, and `at` the time.
///
/// A backup is `{"backup":"…","at":"…"}`; a restoration looks for it to tell whether the ledger is newer than
/// the backup. The file is replaced as a whole and synced.
package struct ErasureLedger: Sendable {
    /// One erasure of a conversation.
    struct Entry: Hashable, Sendable {
        let conversation: String
        let through: UInt64
        let store: String
        let at: Timestamp
        /// Whether the lines of the customer's payments stayed.
        let keepsPayments: Bool
    }

    /// The part of a conversation that is erased in a restored backup.
    struct Match: Hashable, Sendable {
        /// The last erased record.
        var through: UInt64
        /// The time up to which the lines of payments are removed; nil when all of them stay.
        var paymentsThrough: Timestamp?
    }

    /// A backup that was made before a later erasure, and may therefore contain erased customers.
    private struct KnownBackup: Hashable, Sendable {
        let id: String
        let at: Timestamp
    }

    /// The file's name in the data directory, unless the configuration names another path.
    package static let fileName = "erasures.jsonl"

    private let hash: HMACSHA256
    private let key: Secret
    private(set) var entries: [Entry]
    private var backups: [KnownBackup] = []

    /// Creates an empty ledger with a new key.
    init() {
        self.init(key: .random(byteCount: 32), entries: [])
    }

    private init(key: Secret, entries: [Entry]) {
        self.key = key
        self.entries = entries
        hash = HMACSHA256(key: key)
    }

    /// Reads a ledger; nil when the file does not exist.
    ///
    /// Throws ``StoreError/damaged(file:line:)`` for a line that is not one of a ledger.
    package init?(_ path: String) throws(StoreError) {
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try File(path, for: .readingGiven).readAll() } catch {
            if error.isMissing { return nil }
            throw .unavailable(path: path, error)
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard let first = lines.first.flatMap({ Self.root($0) }), first["format"]?.int == 1,
            let digits = first["key"]?.string, digits.utf8.count == 64,
            let secret = try? Secret(Hex.decode(digits.utf8))
        else { throw .damaged(file: path, line: 1) }
        var entries: [Entry] = []
        var backups: [KnownBackup] = []
        for (index, line) in lines.dropFirst().enumerated() {
            guard let root = Self.root(line), let at = root.timestamp("at") else {
                throw .damaged(file: path, line: index + 2)
            }
            if let backup = root["backup"]?.string {
                backups.append(KnownBackup(id: backup, at: at))
                continue
            }
            guard let conversation = root["conversation"]?.string,
                let through = root["through"]?.int.flatMap(UInt64.init(exactly:)),
                let store = root["store"]?.string
            else { throw .damaged(file: path, line: index + 2) }
            entries.append(
                Entry(
                    conversation: conversation, through: through, store: store, at: at,
                    keepsPayments: root["payments"]?.equals("kept") ?? false))
        }
        self.init(key: secret, entries: entries)
        self.backups = backups
    }

    private static func root(_ line: ArraySlice<UInt8>) -> JSONValue? {
        // The parser's error is dropped, because the caller reports which line is damaged.
        (try? JSONDocument(Array(line)))?.root
    }

    /// Returns the part of a conversation that is erased in a backup; nil when the conversation was not erased.
    ///
    /// An erasure in another store counts only if it is later than the backup, and then covers all records.
    /// Such a store was restored from this backup or another one of the same store, and its record numbers
    /// mean different records.
    func match(_ conversation: ErasedConversation, in backup: BackupManifest) -> Match? {
        if entries.isEmpty { return nil }
        let name = name(of: conversation)
        var match: Match?
        for entry in entries where entry.conversation == name {
            let isSame = entry.store == backup.store
            guard isSame || entry.at >= backup.at else { continue }
            let through = isSame ? entry.through : .max
            match = Match(
                through: max(match?.through ?? 0, through),
                paymentsThrough: entry.keepsPayments
                    ? match?.paymentsThrough : max(match?.paymentsThrough ?? entry.at, entry.at))
        }
        return match
    }

    /// Returns whether the ledger lists the backup, and is therefore newer than it.
    func knows(_ backup: BackupManifest) -> Bool { backups.contains { $0.id == backup.id } }

    /// Adds a backup, and removes the entries that are older than `days`.
    mutating func add(backup id: String, at: Timestamp, keepingDays days: Int?) {
        removeOld(at: at, keepingDays: days)
        backups.append(KnownBackup(id: id, at: at))
    }

    private mutating func removeOld(at now: Timestamp, keepingDays days: Int?) {
        guard let days else { return }
        let first = now.advanced(by: .seconds(-86_400 * days))
        entries.removeAll { $0.at < first }
        backups.removeAll { $0.at < first }
    }

    /// Adds an erasure, unless the ledger has it; first removes entries and backups older than `days`.
    mutating func add(
        _ scope: ErasureScope, in store: String, at now: Timestamp, keepsPayments: Bool = false,
        keepingDays days: Int?
    ) {
        removeOld(at: now, keepingDays: days)
        for conversation in scope.conversations.sorted(by: { $0.path < $1.path }) {
            let name = name(of: conversation)
            let known = entries.firstIndex {
                $0.conversation == name && $0.store == store && $0.through == scope.through
            }
            // A later erasure of the same records may remove lines of payments that the earlier one left.
            if let known {
                if keepsPayments { continue }
                entries.remove(at: known)
            }
            entries.append(
                Entry(
                    conversation: name, through: scope.through, store: store, at: now,
                    keepsPayments: keepsPayments))
        }
    }

    /// Returns the HMAC of the length of the business's name (eight bytes), the name and the customer.
    func name(of conversation: ErasedConversation) -> String {
        let business = Array(conversation.business.utf8)
        let length = (0..<8).map { UInt8(truncatingIfNeeded: business.count >> (8 * $0)) }
        return Hex.encode(hash.bytes(of: length + business + Array(conversation.customer.rawValue.utf8)))
    }

    /// The SHA-256 of the key, 64 hexadecimal digits.
    var keyHash: String { Hex.encode(SHA256.hash(key.bytes)) }

    /// The content of the file.
    var bytes: [UInt8] {
        var lines: [JSONObject] = [["format": 1, "key": Hex.encode(key.bytes)]]
        lines += entries.map { entry -> JSONObject in
            [
                "conversation": entry.conversation, "through": Int(clamping: entry.through),
                "store": entry.store, "at": entry.at.rfc3339,
                "payments": entry.keepsPayments ? "kept" : nil,
            ]
        }
        lines += backups.map { backup -> JSONObject in ["backup": backup.id, "at": backup.at.rfc3339] }
        return lines.flatMap { JSONWriter.object($0) + [UInt8(ascii: "\n")] }
    }
}
