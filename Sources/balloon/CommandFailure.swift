import BalloonPOSIX
import MessageServer

/// The reason why a command failed.
enum CommandFailure: Error, Equatable {
    /// An argument has no valid meaning: correct it.
    case unknownArgument(String, reason: String, hint: String)
    /// A named file cannot be read: correct the path or the file's mode.
    case unreadable(path: String, SystemError)
    /// A named program cannot be started: follow the hint.
    case unstartable(program: String, SystemError, hint: String)
    /// A handler did not become ready after its start: read its log lines.
    case handlerNotReady(program: String, hint: String)
    /// A file or a stream was not written completely: free space on the disk, or check the program that reads the
    /// stream.
    case unwritten(to: String, SystemError)
    /// A named file has invalid content: correct it.
    case malformed(path: String, reason: String)
    /// The data directory lacks the file `dev.json`, in which `balloon dev` writes its addresses: start
    /// `balloon dev`, or name another directory.
    case noDevelopmentServer(path: String)
    /// The directory given to `balloon dev` belongs to `balloon serve`: name another directory.
    case foreignDataDirectory(path: String)
    /// No server uses the data directory, and the command needs one: start it.
    case noServer(path: String)
    /// The data directory does not exist: correct the path.
    case noDataDirectory(path: String)
    /// The path of the control socket exceeds the limit for sockets: move the data directory.
    case socketPathTooLong(String)
    /// `--wait` reaches neither the server's control socket nor a simulated gateway: name the server's `--config` or
    /// `--data`.
    case noControlSocket
    /// The business sent the customer no interactive message, or all of them are answered: write to the business
    /// first.
    case nothingAsked(customer: String)
    /// No server answers at the address: start the server, or name another address.
    case noAnswer(url: String)
    /// The server answered with a status other than 200: its log has the reason.
    case refused(status: Int, answer: String)
    /// The running server refused a change to its stored data, and changed nothing: correct the command.
    case changeRefused(reason: String)
    /// The server stopped answering about a job, which may still run: wait for it with `--resume`.
    case jobUnanswered(String)
    /// The server does not know the job, because it restarted or removed it: repeat the command.
    case unknownJob(String)
    /// A message cannot be sent: correct it.
    case unsendable(SendRefusal)
    /// The hash prefix matches no attachment or several: give more digits.
    case unknownAttachment(String)
    /// The given text is not a token: copy all of it.
    case notAToken
    /// A token was refused for this reason: the sender's secret, identity or clock differs from the server's.
    case tokenRefused(reason: String)
    /// The preceding lines list problems of the data directory: rebuild it, or restore a backup.
    case problemsFound(count: Int, areInJournal: Bool)
    /// These files may still name an erased customer: restore or remove them, then repeat the command.
    case notErased([String])
    /// An environment variable of the command has an invalid value: correct it.
    case badVariable(name: String, hint: String)
}
