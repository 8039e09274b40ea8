import CLinux

/// The memory that this process has allocated from the system and does not use.
package enum FreeMemory {
    /// Returns blocks of half a MiB and more to the system as soon as they are freed, in the whole process.
    ///
    /// By default the C library does so only until the first such block is freed; afterwards it caches blocks
    /// of that size, up to 64 MiB for each arena. A few large request bodies would keep that much memory
    /// resident.
    package static func returnLargeBlocks() {
        // This call cannot fail: the option is a known constant.
        _ = mallopt(M_MMAP_THRESHOLD, 512 << 10)
    }

    /// Limits the C library's arenas to two for each processor, in the whole process.
    ///
    /// The library's own limit is eight for each processor. Every thread that allocates is assigned an arena,
    /// and each arena keeps the memory of its busiest moment: after a burst, the resident memory was four
    /// times the memory in use.
    package static func limitArenas() {
        // This call cannot fail: the option is a known constant.
        _ = mallopt(M_ARENA_MAX, CInt(clamping: 2 * ProcessorCount.available()))
    }

    /// Returns free memory to the system; called after a single piece of work that needed much memory.
    package static func trim() { _ = malloc_trim(0) }
}
