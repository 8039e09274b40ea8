import BalloonMetrics
import Testing

@Suite struct MetricsTextTests {
    private func written(_ body: (inout MetricsText) -> Void) -> String {
        var text = MetricsText()
        body(&text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test func `a family has its help, its type and a line for each sample`() {
        let text = written { text in
            text.family("a_total", .counter, "Counts a.") { samples in
                samples.add([("kind", "text"), ("business", "fish")], 12)
                samples.add([("kind", "form"), ("business", "fish")], UInt64.max)
            }
        }
        #expect(
            text == """
                # HELP a_total Counts a.
                # TYPE a_total counter
                a_total{kind="text",business="fish"} 12
                a_total{kind="form",business="fish"} 18446744073709551615

                """)
    }

    @Test func `a family without samples is left out`() {
        #expect(written { $0.family("a", .gauge, "A.") { _ in } } == "")
    }

    @Test(arguments: [("a\"b", "a\\\"b"), ("a\\b", "a\\\\b"), ("a\nb", "a\\nb"), ("ä", "ä")])
    func `a label's value is escaped`(value: String, expected: String) {
        let text = written { $0.family("a", .gauge, "A.") { $0.add([("l", value)], 1) } }
        #expect(text.hasSuffix("a{l=\"\(expected)\"} 1\n"))
    }

    @Test(arguments: [
        (0.5, "0.5"), (3, "3"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (.nan, "NaN"), (1e20, "1e+20"),
        (0.0001, "0.0001"),
    ])
    func `a number is written as Prometheus reads it`(value: Double, expected: String) {
        #expect(written { $0.family("a", .gauge, "A.") { $0.add([], value) } }.hasSuffix("a \(expected)\n"))
    }

    @Test func `a histogram has cumulative buckets, its sum in seconds and its count`() {
        let histogram = Histogram(.nanoseconds)
        // On a bound, behind it, and behind the last one.
        for value in [100_000, 100_001, 40_000_000_000] as [UInt64] { histogram.record(value) }
        let text = written {
            $0.family("a_seconds", .histogram, "A.") { $0.add([("x", "y")], histogram.snapshot) }
        }
        let lines = text.split(separator: "\n").dropFirst(2)
        #expect(lines.count == 13)
        #expect(lines.first == "a_seconds_bucket{x=\"y\",le=\"0.0001\"} 1")
        #expect(lines.dropFirst().first == "a_seconds_bucket{x=\"y\",le=\"0.0005\"} 2")
        #expect(lines.contains("a_seconds_bucket{x=\"y\",le=\"30\"} 2"))
        #expect(lines.contains("a_seconds_bucket{x=\"y\",le=\"+Inf\"} 3"))
        #expect(lines.contains("a_seconds_sum{x=\"y\"} 40.000200001"))
        #expect(lines.last == "a_seconds_count{x=\"y\"} 3")
    }

    @Test func `additions from several threads are all counted`() async {
        let (counter, histogram) = (Counter(), Histogram(.counts))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for number in 0..<10_000 as Range<UInt64> {
                        counter.add()
                        histogram.record(number % 600)
                    }
                }
            }
        }
        #expect(counter.value == 80_000)
        #expect(histogram.snapshot.count == 80_000)
    }
}
