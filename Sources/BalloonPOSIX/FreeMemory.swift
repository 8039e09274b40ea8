import CLinux

/// The memory that this process has and does not use.
package enum FreeMemory {
    /// Gives it back to the system; for after a piece of work that took much and will not come again.
    package static func giveBack() { _ = malloc_trim(0) }
}
