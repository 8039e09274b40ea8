/// How long a child process is given.
package struct ChildTimings: Sendable {
    /// To answer `initialize`.
    package var handshake = Duration.seconds(10)
    /// To say nothing while something is in flight, before it is asked for a sign of life.
    package var silence = Duration.seconds(30)
    /// To show any sign of life after an event that it did not answer in time.
    package var signOfLife = Duration.seconds(10)
    /// To end by itself, and again to end after SIGTERM.
    package var grace = Duration.seconds(5)
    /// When it is started again.
    package var restarts = RestartPolicy()

    /// The defaults.
    package init() {}
}
