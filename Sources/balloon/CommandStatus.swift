/// How a command that failed ends; the numbers are those of `sysexits.h`.
enum CommandStatus: Int32 {
    /// It ran, and the answer is no.
    case failed = 1
    /// It was called wrongly.
    case usage = 64
    /// What it was given to work on is not what it must be.
    case badData = 65
    /// Something that it needs is not there.
    case unavailable = 69
    /// It is in progress and has not ended yet.
    case pending = 75
    /// The configuration is wrong.
    case configuration = 78
}
