import BalloonPOSIX

/// The schedule of restarts of a process that ended: a value without a clock.
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
    /// The running time after which the next exit is followed by the first pause again.
    var healthyAfter = Duration.seconds(60)
    /// More exits than this within ``window`` open the breaker.
    var maximumEnds = 5
    /// The period in which exits are counted.
    var window = Duration.seconds(60)
    /// How long the breaker stays open.
    var rest = Duration.seconds(300)

    private var ends: [ContinuousClock.Instant] = []

    package init() {}

    /// Decides after an exit at `now` of a process that ran for `ran`; `random` is between 0 and 1.
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
