/// The exit code of a failed command; the numbers are those of `sysexits.h`.
enum CommandStatus: Int32 {
    /// The command ran, and its answer is negative.
    case failed = 1
    /// Wrong usage.
    case usage = 64
    /// The input is invalid.
    case badData = 65
    /// Something required is unavailable.
    case unavailable = 69
    /// The operation is still in progress.
    case pending = 75
    /// The configuration is wrong.
    case configuration = 78
}
