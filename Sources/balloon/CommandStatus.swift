/// The exit code of a failed command; the numbers are those of `sysexits.h`.
enum CommandStatus: Int32 {
    /// The command ran but did not succeed, for example because the server refused a request or a check
    /// failed.
    case failed = 1
    /// The arguments are wrong.
    case usage = 64
    /// The input is invalid.
    case badData = 65
    /// A resource that the command needs is unavailable, such as a file or the server.
    case unavailable = 69
    /// The operation is still in progress.
    case pending = 75
    /// The configuration is wrong.
    case configuration = 78
}
