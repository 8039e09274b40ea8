/// Metrics in the text format of Prometheus, version 0.0.4.
///
/// ```
/// # HELP balloon_messages_total Messages recorded, by business and kind.
/// # TYPE balloon_messages_total counter
/// balloon_messages_total{business="fish",kind="text"} 12
/// ```
///
/// A family without samples is omitted. The caller must add each family at most once, and each set of labels
/// at most once per family.
package struct MetricsText: Sendable {
    /// The media type of the text.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// The type of a family.
    package enum FamilyType: String, Sendable {
        /// A number that only grows while the process runs.
        case counter
        /// A number that grows and shrinks.
        case gauge
        /// A distribution over buckets.
        case histogram
    }

    /// The names and values of a sample's labels, in the order in which they are written.
    package typealias Labels = [(name: String, value: String)]

    /// The samples of one family.
    package struct Samples: Sendable {
        fileprivate let name: String
        fileprivate var lines: [UInt8] = []

        /// Adds a sample with a whole number.
        package mutating func add(_ labels: Labels = [], _ value: some BinaryInteger) {
            line("", labels, "\(value)")
        }

        /// Adds a sample.
        package mutating func add(_ labels: Labels = [], _ value: Double) {
            line("", labels, text(value))
        }

        /// Adds the samples of a distribution: a cumulative count for each bucket, the sum and the count.
        package mutating func add(_ labels: Labels = [], _ snapshot: Histogram.Snapshot) {
            var total: UInt64 = 0
            for (index, count) in snapshot.counts.enumerated() {
                total &+= count
                let bound =
                    index < snapshot.scale.bounds.count
                    ? text(Double(snapshot.scale.bounds[index]) / snapshot.scale.unitsPerBase) : "+Inf"
                line("_bucket", labels + [("le", bound)], "\(total)")
            }
            line("_sum", labels, text(Double(snapshot.sum) / snapshot.scale.unitsPerBase))
            line("_count", labels, "\(total)")
        }

        private mutating func line(_ suffix: String, _ labels: Labels, _ value: String) {
            lines += name.utf8
            lines += suffix.utf8
            if !labels.isEmpty {
                lines.append(UInt8(ascii: "{"))
                for (index, label) in labels.enumerated() {
                    if index > 0 { lines.append(UInt8(ascii: ",")) }
                    lines += label.name.utf8
                    lines += "=\"".utf8
                    for byte in label.value.utf8 { escape(byte) }
                    lines.append(UInt8(ascii: "\""))
                }
                lines.append(UInt8(ascii: "}"))
            }
            lines.append(UInt8(ascii: " "))
            lines += value.utf8
            lines.append(UInt8(ascii: "\n"))
        }

        /// Writes a byte of a label's value; the format escapes backslash, quotation mark and line feed.
        private mutating func escape(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "\\"): lines += "\\\\".utf8
            case UInt8(ascii: "\""): lines += "\\\"".utf8
            case UInt8(ascii: "\n"): lines += "\\n".utf8
            default: lines.append(byte)
            }
        }
    }

    /// The text so far.
    package private(set) var bytes: [UInt8] = []

    /// Creates an empty text.
    package init() { bytes.reserveCapacity(64 << 10) }

    /// Adds a family; `help` is one line without a backslash.
    package mutating func family(
        _ name: String, _ type: FamilyType, _ help: String, _ body: (inout Samples) -> Void
    ) {
        var samples = Samples(name: name)
        body(&samples)
        guard !samples.lines.isEmpty else { return }
        bytes += "# HELP \(name) \(help)\n# TYPE \(name) \(type.rawValue)\n".utf8
        bytes += samples.lines
    }

    /// Adds a family with one sample, which has no labels.
    package mutating func family(
        _ name: String, _ type: FamilyType, _ help: String, _ value: some BinaryInteger
    ) {
        family(name, type, help) { $0.add([], value) }
    }
}

/// Returns a number in the format's notation: `+Inf` and `-Inf` for infinity, no exponent for common values.
private func text(_ value: Double) -> String {
    if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
    if value.isNaN { return "NaN" }
    if value == value.rounded(), abs(value) < 1e15 { return "\(Int64(value))" }
    return "\(value)"
}
