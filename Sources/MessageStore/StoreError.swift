package import BalloonPOSIX

/// What can go wrong in the store.
package enum StoreError: Error, Hashable, Sendable {
    /// Another process owns the data directory; the operator stops it or chooses another directory.
    case inUse(path: String, process: Int32?)
    /// The directory was written by a version that this program does not know; the operator upgrades the
    /// program or points it elsewhere. Empty when the directory holds a journal and no VERSION file.
    case unknownVersion(found: String, path: String)
    /// No store has made this directory; the operator names the right one.
    case noData(path: String)
    /// A line that must be intact is not: the disk is broken, or someone edited the file. The operator
    /// restores it from a backup. Lines count from 1; 0 when only the file's end was read.
    case damaged(file: String, line: Int)
    /// A damaged journal file was set aside at an earlier start and nobody has decided about it yet; the
    /// operator repairs it and gives it its name back, or moves it away and loses what was in it.
    case quarantined(file: String)
    /// A conversation was found damaged and set aside, and nothing of it is read until it is rebuilt; the operator does
    /// that with `balloon conversations rebuild`.
    case quarantinedConversation(file: String)
    /// The operating system refused something at the path; the operator sees to disk and permissions.
    case unavailable(path: String, SystemError)
    /// Writing or syncing failed, so nothing of the batch counts as kept; the caller answers 503.
    case notDurable(SystemError)
    /// More waits for the disk than ``StoreConfiguration/maximumWaitingBytes``; the caller answers 503.
    case overloaded
    /// As many messages wait for their handlers as ``StoreConfiguration/maximumPendingDeliveries`` allows; the caller
    /// answers 503, and the operator looks why nobody takes them.
    case tooManyPending(maximum: Int)
    /// As many messages of this business wait for its handler as its quota allows; the caller answers 503, and other
    /// businesses are not concerned.
    case quotaReached(maximum: Int)
    /// The store is closed; the caller stops.
    case closed
    /// The delivery is not leased, or leased again since; a mistake of the caller.
    case notLeased(record: UInt64)
    /// The delivery's outcome was decided before and stays what it is; a mistake of the caller.
    case alreadyDecided(record: UInt64)
    /// The reply is being sent at this moment; the operator repeats the command.
    case beingSent(ReplyID)
    /// No reply in the journal has this name; the operator looks it up in the list.
    case unknownReply(record: UInt64, index: Int)
    /// The reference was resolved before; a mistake of the caller.
    case alreadyResolved(record: UInt64)
    /// No message in the journal has this record; the operator looks it up in the list.
    case unknownRecord(UInt64)
    /// The message is still being dealt with, so that it cannot be handed over again; the operator waits.
    case notFinished(record: UInt64)
    /// The event tells of a failed reply and is not handed over again; the operator retries the reply.
    case notReplayable(record: UInt64)
    /// The message is in another state than the one that the operator named; the operator looks at it again.
    case changed(record: UInt64, now: JournalEvent.Status)
    /// The message is no dead letter; the operator looks it up in the list.
    case notDead(record: UInt64)
    /// The message has ended; the operator looks it up in the list.
    case notPending(record: UInt64)
}

extension StoreError: CustomStringConvertible {
    /// One line for an operator: what happened and where.
    package var description: String {
        switch self {
        case .inUse(let path, let process):
            "the data directory \(path) is in use by "
                + (process.map { "process \($0)" } ?? "another process")
        case .unknownVersion(let found, let path):
            found.isEmpty
                ? "the data directory \(path) holds a journal but no VERSION file"
                : "the data directory \(path) has version \"\(found)\", which this program does not know"
        case .noData(let path): "\(path) is no data directory: it has no VERSION file"
        case .damaged(let file, 0): "\(file) is damaged"
        case .damaged(let file, let line): "\(file) is damaged at line \(line)"
        case .quarantined(let file): "\(file) was found damaged and waits for a decision"
        case .quarantinedConversation(let file): "\(file) was found damaged and waits to be rebuilt"
        case .unavailable(let path, let error): "\(path): \(error)"
        case .notDurable(let error): "not written to disk: \(error)"
        case .overloaded: "too much is waiting for the disk"
        case .tooManyPending(let maximum): "\(maximum) messages wait for their handlers already"
        case .quotaReached(let maximum): "\(maximum) messages of this business wait for its handler already"
        case .closed: "the store is closed"
        case .notLeased(let record): "delivery \(record) is not leased"
        case .alreadyDecided(let record): "delivery \(record) was decided before"
        case .beingSent(let reply): "reply \(reply) is being sent at this moment"
        case .unknownReply(let record, let index):
            "no reply is named \(ReplyID(record: record, index: index))"
        case .unknownRecord(let record): "no message has the record \(record)"
        case .notFinished(let record): "message \(record) is still being dealt with"
        case .notReplayable(let record): "event \(record) tells of a failed reply, which can be retried"
        case .changed(let record, let status): "message \(record) is \(status.rawValue) by now"
        case .notDead(let record): "message \(record) is no dead letter"
        case .notPending(let record): "message \(record) has ended"
        case .alreadyResolved(let record): "the reference of message \(record) was resolved before"
        }
    }
}
