import BalloonJSON
import BalloonPOSIX
package import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The assignments as small JSON files, one for each conversation in ``AssignmentTable/shown``.
///
/// `{"format":1,"record":57,"business":"…","customer":"…","state":"person","since":"…",`
/// `"person":{"id":"…","name":"…"},…}` has the members of the journal's record. People and commands read the
/// files. The files are derived from the journal, and the server corrects them when it starts.
final class AssignmentFiles: Sendable {
    private let directory: String
    private let queue = DispatchQueue(label: "balloon.assignments.files")
    private let logger: Logger

    init(directory: String, logger: Logger) {
        self.directory = directory
        self.logger = logger
    }

    /// Queues a task that writes or removes these conversations' files from the table's entries at that time.
    func update(_ keys: [ConversationKey], from assignments: Assignments) {
        if keys.isEmpty { return }
        queue.async { [self] in
            for key in keys {
                let entry = assignments.withTable { $0.entries[key] }.flatMap { $0.isQuiet ? nil : $0 }
                do throws(StoreError) { _ = try Self.write(entry, of: key, in: directory) } catch {
                    logger.warning(
                        "the file that says who answers a conversation was not written; the next start of the server writes it",
                        metadata: ["error": "\(error)"])
                }
            }
        }
    }

    /// Writes missing and different files, and removes files without an entry; returns how many it changed.
    func correctAll(from assignments: Assignments) async throws -> Int {
        try await queue.run { [directory] in
            try Self.correctAll(assignments.withTable(\.shown), in: directory)
        }
    }

    /// Corrects all files in the background, when the store opens.
    func begin(_ assignments: Assignments) {
        guard !assignments.isEmpty || Directory.exists(directory) else { return }
        queue.async { [self] in
            do throws(StoreError) {
                _ = try Self.correctAll(assignments.withTable(\.shown), in: directory)
            } catch {
                logger.warning(
                    "files in DATA/assignments could not be corrected and may name the wrong person; the server itself is not affected, and its next start corrects them",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    /// Waits until every earlier update is complete.
    func rest() async {
        await queue.run {}
    }

    private static func correctAll(
        _ entries: [ConversationKey: AssignmentTable.Entry], in directory: String
    ) throws(StoreError) -> Int {
        var corrected = 0
        for (key, entry) in entries where try write(entry, of: key, in: directory) { corrected += 1 }
        let paths = Set(entries.keys.map(ConversationPath.state))
        for path in try self.paths(in: directory) where !paths.contains(path) {
            try remove(directory + "/" + path)
            corrected += 1
        }
        return corrected
    }

    /// Writes one file, or removes it when `entry` is nil; returns whether the file had to change.
    private static func write(
        _ entry: AssignmentTable.Entry?, of key: ConversationKey, in directory: String
    ) throws(StoreError) -> Bool {
        let path = directory + "/" + ConversationPath.state(key)
        guard let entry else {
            let isThere = Directory.exists(path)
            if isThere { try remove(path) }
            return isThere
        }
        let bytes = text(entry, of: key)
        do throws(SystemError) {
            if try Directory.holds(path), try File(path, for: .reading).readAll() == bytes { return false }
            try Directory.make(Directory.parent(of: path))
            try AtomicFile.write(bytes, to: path)
            return true
        } catch {
            throw .unavailable(path: path, error)
        }
    }

    private static func remove(_ path: String) throws(StoreError) {
        do throws(SystemError) { try Directory.remove(path) } catch {
            if !error.isMissing { throw .unavailable(path: path, error) }
        }
    }

    /// Returns the content of a conversation's file: one JSON object and a line feed.
    static func text(_ entry: AssignmentTable.Entry, of key: ConversationKey) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("format", 1)
            writer.field("record", Int(clamping: entry.assignment.record))
            writer.field("business", key.business.rawValue)
            writer.field("customer", key.customer.rawValue)
            entry.assignment.write(to: &writer)
        } + [UInt8(ascii: "\n")]
    }

    /// The paths of the files, relative to `directory`; empty when the directory does not exist.
    static func paths(in directory: String) throws(StoreError) -> [String] {
        guard Directory.exists(directory) else { return [] }
        var paths: [String] = []
        do throws(SystemError) {
            for business in try Directory.names(in: directory) {
                guard Directory.isDirectory(directory + "/" + business) else { continue }
                for folder in try Directory.names(in: directory + "/" + business) {
                    let path = business + "/" + folder
                    guard Directory.isDirectory(directory + "/" + path) else { continue }
                    for name in try Directory.names(in: directory + "/" + path) where name.hasSuffix(".json")
                    {
                        paths.append(path + "/" + name)
                    }
                }
            }
        } catch {
            throw .unavailable(path: directory, error)
        }
        return paths
    }
}

/// Read-only access to the assignments of a data directory; needs no lock, and works while a server runs.
package struct AssignmentFolder: Sendable {
    /// A conversation with its assignment.
    package struct Item: Sendable {
        /// The business.
        package let business: BusinessID
        /// The customer.
        package let customer: CustomerID
        /// The assignment.
        package let assignment: Assignment
    }

    private let directory: String

    /// Uses the data directory at this path.
    package init(dataDirectory: String) { directory = DataDirectory(path: dataDirectory).assignments }

    /// Returns every assignment, the one with the oldest change first; reads one small file for each.
    package func list() throws -> [Item] {
        try AssignmentFiles.paths(in: directory).compactMap { path throws(StoreError) in try item(path) }
            .sorted { ($0.assignment.since?.milliseconds ?? 0) < ($1.assignment.since?.milliseconds ?? 0) }
    }

    /// Reads a file; nil when a running server has removed it since the folder was listed.
    private func item(_ path: String) throws(StoreError) -> Item? {
        let file = directory + "/" + path
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try File(file, for: .reading).readAll() } catch {
            if error.isMissing { return nil }
            throw .unavailable(path: file, error)
        }
        guard let item = Item(bytes) else { throw .damaged(file: file, line: 1) }
        return item
    }
}

extension AssignmentFolder.Item {
    /// Parses a file; nil when it is damaged or of another version.
    init?(_ bytes: [UInt8]) {
        // The caller reports a file that cannot be parsed as damaged.
        guard let root = (try? JSONDocument(bytes))?.root, root["format"]?.int == 1,
            let business = root["business"]?.string, let customer = root["customer"]?.string,
            var assignment = Assignment(root), let record = root.record("record")
        else { return nil }
        assignment.record = record
        self.business = BusinessID(business)
        self.customer = CustomerID(customer)
        self.assignment = assignment
    }
}
