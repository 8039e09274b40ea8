/// The distribution of values over ten fixed buckets and an unbounded last one, and the sum of the values.
///
/// Any thread may record a value without waiting, with two atomic additions. A concurrent reader may see a
/// value in its bucket before it is part of the sum.
package final class Histogram: Sendable {
    /// The unit of the recorded values, and the upper bounds of the buckets in that unit.
    package struct Scale: Sendable {
        /// The inclusive upper bounds, ascending.
        let bounds: [UInt64]
        /// The recorded units in one unit of the metrics' text: 1e9 when nanoseconds are written as seconds.
        let unitsPerBase: Double

        /// Nanoseconds, written as seconds, with bounds at 100 and 500 us, 1, 5, 10, 50 and 250 ms, 1, 5 and
        /// 30 s.
        package static let nanoseconds = Scale(
            bounds: [100, 500, 1000, 5000, 10_000, 50_000, 250_000, 1_000_000, 5_000_000, 30_000_000].map {
                $0 * 1000
            }, unitsPerBase: 1_000_000_000)
        /// Counts, written without conversion, with the powers of two from 1 to 512 as bounds.
        package static let counts = Scale(bounds: (0..<10).map { 1 << $0 }, unitsPerBase: 1)
    }

    /// The distribution at one moment.
    package struct Snapshot: Sendable {
        /// The bounds of the buckets.
        package let scale: Scale
        /// The number of values in each bucket, not cumulative; the last bucket has no upper bound.
        package let counts: [UInt64]
        /// The sum of all values, in the unit in which they were recorded.
        package let sum: UInt64

        /// The number of all values.
        package var count: UInt64 { counts.reduce(0, &+) }
    }

    private let scale: Scale
    private let buckets: [Counter]
    private let sum = Counter()

    /// Creates an empty distribution.
    package init(_ scale: Scale) {
        self.scale = scale
        buckets = (0...scale.bounds.count).map { _ in Counter() }
    }

    /// Adds a value.
    package func record(_ value: UInt64) {
        var bucket = 0
        while bucket < scale.bounds.count, value > scale.bounds[bucket] { bucket += 1 }
        buckets[bucket].add()
        sum.add(value)
    }

    /// The distribution now.
    package var snapshot: Snapshot {
        Snapshot(scale: scale, counts: buckets.map(\.value), sum: sum.value)
    }
}
