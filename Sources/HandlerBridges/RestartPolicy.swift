import BalloonPOSIX

/// The rules that decide when an ended process is restarted; each caller passes the current time.
package struct RestartPolicy: Sendable {
    /// The next step after an exit.
    package enum Decision: Hashable, Sendable {
        /// Restart after this pause.
        case restart(after: Duration)
        /// The process ends too often: suspend restarts for this long.
        case giveRest(Duration)
    }

    /// The pauses before restarts, which grow with consecutive exits.
    var backoff = Backoff(from: .milliseconds(500), to: .seconds(30), jitter: 0.8...1.2)
    /// The running time after which a process counts as healthy, so that the next pause is the shortest one.
    var healthyAfter = Duration.seconds(60)
    /// The maximum number of exits within ``window``; one more suspends restarts for ``rest``.
    var maximumEnds = 5
    /// The period in which exits are counted.
    var window = Duration.seconds(60)
    /// The time for which restarts are suspended after too many exits.
    var rest = Duration.seconds(300)

    private var ends: [ContinuousClock.Instant] = []

    package init() {}

    /// Records an exit at `now` of a process that ran for the time `ran`, and returns the next step.
    ///
    /// `random` is between 0 and 1.
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
