/// The time limits of a child process.
package struct ChildTimings: Sendable {
    /// The limit for the answer to `initialize`.
    package var handshake = Duration.seconds(10)
    /// The time without output after which a ping is sent, while a call is pending.
    package var silence = Duration.seconds(30)
    /// The time after a ping within which the process must write any output; otherwise it is killed.
    package var signOfLife = Duration.seconds(10)
    /// The time from closing the input to SIGTERM, and again from SIGTERM to SIGKILL.
    package var grace = Duration.seconds(5)
    /// The policy that decides when an ended process is restarted.
    package var restarts = RestartPolicy()

    /// Uses the default values.
    package init() {}
}
