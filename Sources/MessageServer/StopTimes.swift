/// Divides the time of a shutdown among its steps.
///
/// A step gets the time that earlier steps did not use. The last five seconds, or half of a limit below ten
/// seconds, are reserved for cancelled deliveries, for handlers and for closing the store.
struct StopTimes: Sendable {
    /// The time for requests and deliveries to finish.
    let grace: Duration
    private let limit: Duration
    private let reserve: Duration
    private let began = ContinuousClock.now

    init(_ limit: Duration, grace: Duration? = nil) {
        self.limit = limit
        reserve = min(limit / 2, .seconds(5))
        self.grace = grace ?? limit - reserve
    }

    /// The longest drain: the rest of the time is for requests and deliveries.
    var longestDrain: Duration { grace / 2 }
    var graceLeft: Duration { max(.zero, grace - elapsed) }
    /// The time that is left until handlers are cancelled and their child processes killed.
    var handlersLeft: Duration { max(.zero, limit - elapsed - reserve * 2 / 5) }
    /// The time that is left for cancelled deliveries to end: slightly more than for the handlers they wait for.
    var cancelledLeft: Duration { handlersLeft + reserve / 5 }

    private var elapsed: Duration { .now - began }
}
