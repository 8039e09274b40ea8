/// Delays that grow with each failure in a row, so that a failing operation is retried less and less often.
///
/// A back-off reads no clock and does not wait: it returns the delay, and the caller waits. The caller also
/// decides after how many failures to stop.
package struct Backoff: Sendable, Equatable {
    /// The delay after the first failure, the second, and so on; the last one repeats.
    package var delays: [Duration]
    /// The range of the random factor of each delay.
    ///
    /// It prevents that operations which failed together are also retried together.
    package var jitter: ClosedRange<Double>
    /// How many failures were counted since the last success.
    package private(set) var failures = 0

    /// Uses these delays in their order; there must be at least one.
    package init(_ delays: [Duration], jitter: ClosedRange<Double> = 1...1) {
        precondition(!delays.isEmpty, "a back-off has a delay")
        self.delays = delays
        self.jitter = jitter
    }

    /// Creates delays that double from `first` up to `longest`.
    package init(from first: Duration, to longest: Duration, jitter: ClosedRange<Double> = 1...1) {
        var delays = [min(first, longest)]
        while let last = delays.last, last > .zero, last < longest { delays.append(min(last * 2, longest)) }
        self.init(delays, jitter: jitter)
    }

    /// The longest delay, without its random factor.
    package var longest: Duration { delays.max() ?? .zero }

    /// Returns the delay after `failures` failures in a row (from 1), with `random` from 0 to 1.
    ///
    /// `atLeast` is the minimum delay that the peer has requested, for example with `Retry-After`. It is
    /// capped at `limit`, or at ``longest`` without a limit.
    package func delay(
        after failures: Int, atLeast: Duration? = nil, limit: Duration? = nil,
        random: Double = .random(in: 0...1)
    ) -> Duration {
        let regular = delays[min(max(failures, 1), delays.count) - 1]
        let delay = regular * (jitter.lowerBound * (1 - random) + jitter.upperBound * random)
        return max(delay, min(atLeast ?? .zero, limit ?? longest))
    }

    /// Counts a failure and returns the delay after it.
    package mutating func fail(atLeast: Duration? = nil, random: Double = .random(in: 0...1)) -> Duration {
        failures += 1
        return delay(after: failures, atLeast: atLeast, random: random)
    }

    /// Forgets all failures; called when the operation has succeeded.
    package mutating func reset() { failures = 0 }
}
