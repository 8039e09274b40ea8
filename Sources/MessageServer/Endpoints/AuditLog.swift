import BalloonJSON
package import BalloonPOSIX
import Dispatch
import Logging

/// The changes that operators and programs made: `DATA/audit.jsonl`, with one line for each change.
///
/// `{"at":"…","by":{"uid":1000},"command":"POST /replay","result":"done"}`. `by` is the user of the process
/// that connected to the control socket, or `{"token":"crm"}` for the business API,
/// with `"person":"agent-7"` for a token of a person. `command` is the
/// operation's path with its parameters in braces, without their values. `conversations` names conversations
/// by the keyed hashes of the ledger of erasures, so that it names no customer. `assigned` is the person who
/// has the conversation after the change, or to whom it is offered. A line is on disk when
/// `record(_:)` returns.
package final class AuditLog: Sendable {
    /// The author of a change.
    package enum Author: Hashable, Sendable {
        /// A user of this machine; nil when the system did not report the user.
        case user(UInt32?)
        /// A token of the business API, and the identifier of its person.
        case token(String, person: String? = nil)
    }

    /// One change.
    package struct Entry: Sendable {
        let author: Author
        let command: String
        var business: String?
        package var conversations: [String] = []
        /// The identifier of the person to whom a conversation was assigned.
        var assigned: String?
        let result: String
        var at = Timestamp.now()

        /// Creates an entry without a business and conversations.
        package init(_ command: String, by author: Author, result: String) {
            self.command = command
            self.author = author
            self.result = result
        }

        var line: [UInt8] {
            let by: JSONObject =
                switch author {
                case .user(let user): ["uid": user.map { Int($0) }]
                case .token(let name, let person): ["token": name, "person": person]
                }
            return JSONWriter.object([
                "at": at.rfc3339, "by": by, "command": command, "business": business,
                "conversations": conversations.isEmpty ? nil : conversations, "assigned": assigned,
                "result": result,
            ])
        }
    }

    /// The file's name in the data directory.
    package static let fileName = "audit.jsonl"

    private let path: String
    private let days: @Sendable () -> Int
    private let logger: Logger
    private let queue = DispatchQueue(label: "balloon.audit")

    init(dataDirectory: String, days: @escaping @Sendable @autoclosure () -> Int, logger: Logger) {
        path = dataDirectory + "/" + Self.fileName
        self.days = days
        self.logger = logger
    }

    /// Appends a change, and returns when the line is on disk.
    ///
    /// `complete` adds facts that are read from the disk, in the log's own queue.
    /// A failed write is only logged, because the change was already made.
    func record(_ entry: Entry, completing complete: (@Sendable (inout Entry) -> Void)? = nil) async {
        do throws(SystemError) {
            try await queue.run { [path] () throws(SystemError) in
                var entry = entry
                complete?(&entry)
                try Self.append(entry.line, to: path)
            }
        } catch {
            logger.error(
                "a change could not be written to the audit log",
                metadata: ["command": "\(entry.command)", "error": "\(error)"])
        }
    }

    /// Appends a change that a command made without the help of a running server.
    package static func append(_ entry: Entry, in dataDirectory: String) throws(SystemError) {
        let path = dataDirectory + "/" + fileName
        try append(entry.line, to: path)
    }

    /// Removes the lines that are older than `auditDays`.
    func removeOld(now: Timestamp = .now()) async {
        do throws(SystemError) {
            try await queue.run { [self] () throws(SystemError) in
                try removeLines(before: now.advanced(by: .seconds(-86_400 * days())))
            }
        } catch {
            logger.warning("old lines of the audit log stay", metadata: ["error": "\(error)"])
        }
    }

    private func removeLines(before limit: Timestamp) throws(SystemError) {
        guard try Directory.holds(path) else { return }
        let file = try File(path, for: .appending)
        // A command may append a line without this server, and waits for the new file.
        try file.lock()
        let content = try file.readAll()
        var position = 0
        while let feed = content.firstPosition(of: UInt8(ascii: "\n"), from: position) {
            // A line that is not JSON has no time, so it is removed with the lines before it.
            let at = (try? JSONDocument(Array(content[position..<feed])))?.root["at"]?.string
            if let at = at.flatMap({ Timestamp(rfc3339: $0) }), at >= limit { break }
            position = feed + 1
        }
        if position > 0 { try AtomicFile.write(Array(content[position...]), to: path) }
        withExtendedLifetime(file) {}
    }

    private static func append(_ line: [UInt8], to path: String) throws(SystemError) {
        let isNew = try !Directory.holds(path)
        var file = try File(path, for: .appending)
        try file.lock()
        // The old lines may have been removed between the two calls.
        while !file.isAt(path) {
            file = try File(path, for: .appending)
            try file.lock()
        }
        try file.appendLine(line)
        try file.synchronize()
        if isNew { try Directory.synchronize(Directory.parent(of: path)) }
    }
}
