/// A sequence of short references, each of which connects an answer to its log line.
///
/// The references are unique in a process, and no reference can be predicted from another.
struct ReferenceSequence: Sendable {
    /// One reference.
    struct Reference: Sendable {
        fileprivate let value: UInt64

        /// Sixteen hexadecimal digits.
        var text: String {
            let digits = String(value, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
    }

    private var state: UInt64

    /// Starts at a random value.
    init() { state = .random(in: 0 ... .max) }

    /// Returns the next reference.
    ///
    /// A bijection (SplitMix64's finalizer) mixes each value of the counter, so that no reference repeats.
    mutating func next() -> Reference {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Reference(value: mixed ^ (mixed >> 31))
    }
}
