/// The time limits of a child process.
package struct ChildTimings: Sendable {
    /// The limit for the answer to `initialize`.
    package var handshake = Duration.seconds(10)
    /// The silence, with a call in flight, after which a ping is sent.
    package var silence = Duration.seconds(30)
    /// The limit for a sign of life after an event that was not answered in time.
    package var signOfLife = Duration.seconds(10)
    /// The limit for ending by itself, and again for ending after SIGTERM.
    package var grace = Duration.seconds(5)
    /// The schedule of restarts.
    package var restarts = RestartPolicy()

    /// Uses the default values.
    package init() {}
}
