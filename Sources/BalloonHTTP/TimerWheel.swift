/// Deadlines of many connections at O(1) each: a ring of buckets, one per tick.
///
/// A deadline that moves later costs nothing: its old entry is looked at when it comes due and put where it belongs now.
struct TimerWheel: Sendable {
    /// Milliseconds of one tick as a power of two.
    static let tickShift: UInt64 = 7

    private var buckets: [[UInt64]]
    private(set) var now: UInt64
    private(set) var count = 0

    /// Makes a wheel with `bucketCount` buckets (a power of two) that stands at tick `now`.
    init(bucketCount: Int = 1024, now: UInt64) {
        buckets = Array(repeating: [], count: bucketCount)
        self.now = now
    }

    /// The ticks that a wait takes, at least one.
    static func ticks(_ duration: Duration) -> UInt64 {
        let milliseconds = max(0, duration / .milliseconds(1))
        return UInt64(min(milliseconds, 1e15)) >> tickShift + 1
    }

    /// Puts `token` where it will be looked at, at `tick` or before when that is beyond the wheel; returns that tick.
    mutating func insert(_ token: UInt64, at tick: UInt64) -> UInt64 {
        let due = min(max(tick, now + 1), now + UInt64(buckets.count) - 1)
        buckets[Int(due) & (buckets.count - 1)].append(token)
        count += 1
        return due
    }

    /// Moves on to `tick` and returns every token whose bucket was passed.
    mutating func advance(to tick: UInt64) -> [UInt64] {
        guard tick > now else { return [] }
        var due: [UInt64] = []
        let steps = min(tick - now, UInt64(buckets.count))
        for step in 1...steps {
            let index = Int(now + step) & (buckets.count - 1)
            if !buckets[index].isEmpty {
                due += buckets[index]
                buckets[index] = []
            }
        }
        now = tick
        count -= due.count
        return due
    }
}
