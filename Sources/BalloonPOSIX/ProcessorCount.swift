import CLinux

/// The number of processors.
package enum ProcessorCount {
    /// Returns the number of processors that the affinity of this process allows; at least 1.
    package static func available() -> Int { max(1, Int(balloon_processor_count())) }
}
