import CLinux

/// The memory that this process has and does not use.
package enum FreeMemory {
    /// Gives blocks of half a MiB and more back to the system as soon as they are freed, for the whole process.
    ///
    /// The C library does so only until the first one is freed: then it keeps what is as large, up to 64 MiB for each of
    /// its arenas. A few large bodies would leave that much resident for good.
    package static func returnLargeBlocks() {
        // A constant that it knows: it cannot refuse.
        _ = mallopt(M_MMAP_THRESHOLD, 512 << 10)
    }

    /// Gives it back to the system; for after a piece of work that took much and will not come again.
    package static func giveBack() { _ = malloc_trim(0) }
}
