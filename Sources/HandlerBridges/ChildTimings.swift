/// How long a child process is given.
package struct ChildTimings: Sendable {
    /// To answer `initialize`.
    package var handshake = Duration.seconds(10)
    /// To show any sign of life after an event that it did not answer in time.
    package var signOfLife = Duration.seconds(10)
    /// To end by itself, and again to end after SIGTERM.
    package var grace = Duration.seconds(5)
    /// When it is started again.
    package var restarts = RestartPolicy()

    /// The defaults.
    package init() {}
}
