/// The time limits of a child process.
package struct ChildTimings: Sendable {
    /// The limit for the answer to `initialize`.
    package var handshake = Duration.seconds(10)
    /// The time without output after which a ping is sent, while a call is pending.
    package var silence = Duration.seconds(30)
    /// The time after a ping in which the process must write any line; otherwise it is killed.
    package var signOfLife = Duration.seconds(10)
    /// The time between closing the input and SIGTERM, and again between SIGTERM and SIGKILL.
    package var grace = Duration.seconds(5)
    /// The policy that decides when an ended process is restarted.
    package var restarts = RestartPolicy()

    /// Uses the default values.
    package init() {}
}
