import BalloonPOSIX
import MessageServer

/// Why a command could not do what it was asked.
enum CommandFailure: Error, Equatable {
    /// An argument cannot be meant: the caller corrects it.
    case unknownArgument(String, reason: String, hint: String)
    /// A file that was named cannot be read: the caller corrects the path or the file's mode.
    case unreadable(path: String, SystemError)
    /// A program that was named cannot be started: the caller does what the hint says.
    case unstartable(program: String, SystemError, hint: String)
    /// Not all could be written to a file or a stream: the caller makes room, or looks at what reads it.
    case unwritten(to: String, SystemError)
    /// A file that was named does not hold what it must: the caller corrects it.
    case malformed(path: String, reason: String)
    /// No `balloon dev` has left its addresses in the data directory: the caller starts it, or names another directory.
    case noDevelopmentServer(path: String)
    /// There is no such data directory: the caller corrects the path.
    case noDataDirectory(path: String)
    /// The path of the data directory's control socket has more bytes than a socket's may: the operator moves it.
    case socketPathTooLong(String)
    /// Nothing answers at the address: the caller starts the server, or names another address.
    case noAnswer(url: String)
    /// The server answered with something else than 200: its log says why.
    case refused(status: Int, answer: String)
    /// The server has not answered about a job, which may run still: the caller waits for it with `--resume`.
    case jobUnanswered(String)
    /// The server knows no such job, since it was restarted or has forgotten it: the caller repeats the command.
    case unknownJob(String)
    /// A message cannot be sent: its author corrects it.
    case unsendable(SendRefusal)
    /// No attachment, or more than one, has this hash: the caller writes more of it.
    case unknownAttachment(String)
    /// The business has not answered in time: its handler may have nothing to say.
    case noReply(seconds: Int)
    /// What was given as a token is none: the caller copies the whole of it.
    case notAToken
    /// A token was refused, and why: the sender's secret, identity or clock is another than the server's.
    case tokenRefused(reason: String)
    /// The data directory is not as it should be, as the lines before say: the operator rebuilds, or restores a backup.
    case problemsFound(count: Int, areInJournal: Bool)
    /// A variable that the command reads itself has no meaning: the operator corrects it.
    case badVariable(name: String, hint: String)
}
