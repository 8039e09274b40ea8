/// A timer wheel: deadlines of many connections at O(1) each, in a ring of buckets with one bucket per tick.
///
/// Extending a deadline changes no entry. When the old entry is due, the shard compares the deadline and
/// inserts the connection again at the new tick.
struct TimerWheel: Sendable {
    /// The length of one tick as a power of two: 2^7, which is 128 milliseconds.
    static let tickShift: UInt64 = 7

    private var buckets: [[UInt64]]
    private(set) var now: UInt64
    private(set) var count = 0

    /// Creates a wheel with `bucketCount` buckets (a power of two) at tick `now`.
    init(bucketCount: Int = 1024, now: UInt64) {
        buckets = Array(repeating: [], count: bucketCount)
        self.now = now
    }

    /// Returns the number of ticks that cover `duration`, at least one.
    static func ticks(_ duration: Duration) -> UInt64 {
        let milliseconds = max(0, duration / .milliseconds(1))
        return UInt64(min(milliseconds, 1e15)) >> tickShift + 1
    }

    /// Inserts `token` at `tick`, or at the last tick of the ring when `tick` is later; returns the tick
    /// used.
    mutating func insert(_ token: UInt64, at tick: UInt64) -> UInt64 {
        let due = min(max(tick, now + 1), now + UInt64(buckets.count) - 1)
        buckets[Int(due) & (buckets.count - 1)].append(token)
        count += 1
        return due
    }

    /// Advances to `tick` and returns the tokens of every passed bucket.
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
