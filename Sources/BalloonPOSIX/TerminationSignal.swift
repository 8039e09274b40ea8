import Glibc

/// The signals that end another process.
package enum TerminationSignal {
    /// Asks the process to end (`SIGTERM`).
    package static let polite = SIGTERM
    /// Kills the process (`SIGKILL`).
    package static let final = SIGKILL
}
