import BalloonPOSIX

/// Decides when a process that ended is restarted; reads no clock, because each caller passes the time.
package struct RestartPolicy: Sendable {
    /// The next step after an exit.
    package enum Decision: Hashable, Sendable {
        /// Restart after this pause.
        case restart(after: Duration)
        /// The process ends too often: suspend restarts for this long.
        case giveRest(Duration)
    }

    /// The pauses after consecutive exits.
    var backoff = Backoff(from: .milliseconds(500), to: .seconds(30), jitter: 0.8...1.2)
    /// A process that ran at least this long has recovered: after its exit, the pauses begin with the
    /// shortest again.
    var healthyAfter = Duration.seconds(60)
    /// More exits than this within ``window`` suspend restarts for ``rest``.
    var maximumEnds = 5
    /// The period in which exits are counted.
    var window = Duration.seconds(60)
    /// How long restarts are suspended after too many exits.
    var rest = Duration.seconds(300)

    private var ends: [ContinuousClock.Instant] = []

    package init() {}

    /// Records an exit at `now` of a process that ran for `ran`, and returns the next step; `random` is
    /// between 0 and 1.
    package mutating func decide(
        at now: ContinuousClock.Instant, ran: Duration, random: Double
    ) -> Decision {
        if ran >= healthyAfter { reset() }
        ends.removeAll { now - $0 >= window }
        ends.append(now)
        guard ends.count <= maximumEnds else {
            reset()
            return .giveRest(rest)
        }
        return .restart(after: backoff.fail(random: random))
    }

    /// Clears the recorded exits.
    package mutating func reset() {
        ends = []
        backoff.reset()
    }
}
