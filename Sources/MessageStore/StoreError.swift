package import BalloonPOSIX

/// An error of the store.
package enum StoreError: Error, Hashable, Sendable {
    /// Another process has the data directory open: stop that process, or choose another directory.
    case inUse(path: String, process: Int32?)
    /// The directory has an unknown version: upgrade the program, or choose another directory.
    ///
    /// `found` is empty when the directory has a journal without a VERSION file.
    case unknownVersion(found: String, path: String)
    /// No store created this directory: name the right directory.
    case noData(path: String)
    /// A complete line is damaged, because the disk is broken or the file was edited: restore the file from a
    /// backup.
    ///
    /// `line` counts from 1; it is 0 when only a part of the file was read.
    case damaged(file: String, line: Int)
    /// A damaged journal file was quarantined at an earlier start: repair and rename it, or move it away and
    /// lose its content.
    case quarantined(file: String)
    /// A conversation is quarantined because of damage, and cannot be read until it is rebuilt: run `balloon
    /// conversations rebuild`.
    case quarantinedConversation(file: String)
    /// The operating system refused an operation at the path: check the disk and permissions.
    case unavailable(path: String, SystemError)
    /// Writing or syncing failed, so no record of the batch is stored; the caller answers 503.
    case notDurable(SystemError)
    /// The bytes that wait for the disk exceed ``StoreConfiguration/maximumWaitingBytes``; the caller answers
    /// 503.
    case overloaded
    /// The unfinished messages reached ``StoreConfiguration/maximumPendingDeliveries``. The caller answers
    /// 503, and the operator checks the handlers.
    case tooManyPending(maximum: Int)
    /// The unfinished messages of this business reached its quota; the caller answers 503, and other
    /// businesses are not affected.
    case quotaReached(maximum: Int)
    /// The open requests to sign in or to pay, of this business or of all businesses, reached their limit.
    ///
    /// The message that makes the request is not sent.
    case tooManyRequests(maximum: Int)
    /// The store is closed; the caller must stop.
    case closed
    /// The delivery is not leased: it has ended, for example by an operator's command, or its lease was
    /// released.
    case notLeased(record: UInt64)
    /// The delivery's outcome was decided before and cannot change; an error of the caller.
    case alreadyDecided(record: UInt64)
    /// The reply is being sent: repeat the command later.
    case beingSent(ReplyID)
    /// The journal has no reply with this record and index: look the reply up in the list of replies.
    case unknownReply(record: UInt64, index: Int)
    /// The reference was resolved before; an error of the caller.
    case alreadyResolved(record: UInt64)
    /// The journal has no message with this record: look the message up in the list of messages.
    case unknownRecord(UInt64)
    /// The message is unfinished, so it cannot be replayed: wait.
    case notFinished(record: UInt64)
    /// The event of a failed reply cannot be replayed; the operator retries the reply instead.
    case notReplayable(record: UInt64)
    /// The message's state differs from the one that the operator named: check the message again.
    case changed(record: UInt64, now: JournalEvent.Status)
    /// The message is not a dead letter: look it up in the list.
    case notDead(record: UInt64)
    /// The reply is not a dead letter: look it up in the list.
    case replyNotDead(ReplyID)
    /// The message has ended: look it up in the list.
    case notPending(record: UInt64)
    /// A backup of the data directory is running, and a second one must not begin: wait for its end.
    case backupRunning(process: Int32?)
    /// A restoration into this directory did not end: empty the directory, and restore again.
    case restoreUnfinished(path: String)
    /// A database keeps the files of this directory, so a change in it alone would be lost: use a running server.
    case copyOfDatabase(path: String)
    /// Stored files are being deleted or rewritten, and no backup may begin meanwhile: repeat the backup.
    case filesChanging
    /// The ledger of erasures that the data directory has used is not at this path.
    case ledgerMissing(path: String)
    /// The ledger of erasures at this path is not the one that the data directory has used.
    case otherLedger(path: String)
    /// The assignment of the conversation does not allow the operation; nothing has changed.
    case assignment(AssignmentRefusal)
}

extension StoreError {
    /// Runs `body`; an error of the system names the file or folder at `path`.
    @discardableResult
    static func naming<Result>(
        _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> Result
    ) throws(StoreError) -> Result {
        do throws(SystemError) { return try body() } catch { throw .unavailable(path: path(), error) }
    }
}

extension StoreError: CustomStringConvertible {
    /// One line for an operator: the problem and its place.
    package var description: String {
        switch self {
        case .inUse(let path, let process):
            "the data directory \(path) is in use by "
                + (process.map { "process \($0)" } ?? "another process")
        case .unknownVersion(let found, let path):
            found.isEmpty
                ? "the data directory \(path) holds a journal but no VERSION file"
                : "the data directory \(path) has version \"\(found)\", which this program does not know"
        case .noData(let path): "\(path) is not a data directory: it has no VERSION file"
        case .damaged(let file, 0): "\(file) is damaged"
        case .damaged(let file, let line): "\(file) is damaged at line \(line)"
        case .quarantined(let file): "\(file) is quarantined because of damage"
        case .quarantinedConversation(let file):
            "\(file) is quarantined because of damage until it is rebuilt"
        case .unavailable(let path, let error): "\(path): \(error)"
        case .notDurable(let error): "not written to disk: \(error)"
        case .overloaded: "too many bytes wait for the disk"
        case .tooManyPending(let maximum): "the limit of \(maximum) unfinished messages is reached"
        case .quotaReached(let maximum): "the business's quota of \(maximum) unfinished messages is reached"
        case .tooManyRequests(let maximum):
            "the limit of \(maximum) open requests to sign in or to pay is reached"
        case .closed: "the store is closed"
        case .notLeased(let record): "delivery \(record) is not leased"
        case .alreadyDecided(let record): "delivery \(record) was decided before"
        case .beingSent(let reply): "reply \(reply) is currently being sent"
        case .unknownReply(let record, let index):
            "no reply is named \(ReplyID(record: record, index: index))"
        case .unknownRecord(let record): "no message has the record \(record)"
        case .notFinished(let record): "message \(record) is not finished"
        case .notReplayable(let record): "event \(record) reports a failed reply; retry the reply instead"
        case .changed(let record, let status): "message \(record) has changed to \(status.rawValue)"
        case .notDead(let record): "message \(record) is not a dead letter"
        case .replyNotDead(let reply): "reply \(reply) is not a dead letter"
        case .notPending(let record): "message \(record) has ended"
        case .backupRunning(let process):
            "a backup of the data directory is running"
                + (process.map { " in process \($0)" } ?? "")
        case .restoreUnfinished(let path): "the restoration into \(path) did not end"
        case .copyOfDatabase(let path): "\(path) is a copy of a store in PostgreSQL"
        case .filesChanging: "stored files are being deleted or rewritten"
        case .ledgerMissing(let path): "the ledger of erasures \(path) is missing"
        case .otherLedger(let path): "the ledger of erasures \(path) is not the one of this data directory"
        case .assignment(let refusal): "\(refusal)"
        case .alreadyResolved(let record): "the reference of message \(record) was resolved before"
        }
    }
}
