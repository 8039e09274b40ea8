import Glibc

/// The signals by which a process is told to end.
package enum TerminationSignal {
    /// It may take its leave (`SIGTERM`).
    package static let polite = SIGTERM
    /// It is gone (`SIGKILL`).
    package static let final = SIGKILL
}
