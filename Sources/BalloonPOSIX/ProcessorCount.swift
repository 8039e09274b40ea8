import CLinux

/// The number of processors.
package enum ProcessorCount {
    /// How many processors this process may run on: its affinity counts, not the machine; at least 1.
    package static func available() -> Int { max(1, Int(balloon_processor_count())) }
}
