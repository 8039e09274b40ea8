/// The waits of an attempt to pay.
package struct PaymentTimings: Hashable, Sendable {
    /// The time limit of a callback; Apple waits for 30 seconds.
    package var answer = Duration.seconds(25)
    /// The time for which a charging call to a program or a service stays open, from its beginning.
    ///
    /// An attempt whose end nobody saw is not reversed for good before, because the payment provider may still
    /// charge.
    package var call = Duration.seconds(600)
    /// The time from an end that was seen, and from a start of the server, to the reversal that decides.
    package var pause = Duration.seconds(60)
    /// The longest time between two searches for attempts to reverse.
    package var search = Duration.seconds(30)

    /// Uses the default values.
    package init() {}

    /// The same waits, each divided by `divisor`, for tests on a real clock.
    package func divided(by divisor: Int) -> PaymentTimings {
        var timings = self
        timings.answer = answer / divisor
        timings.call = call / divisor
        timings.pause = pause / divisor
        timings.search = search / divisor
        return timings
    }
}
