import CLinux

/// The memory that this process has allocated from the system and does not use.
package enum FreeMemory {
    /// Returns blocks of half a MiB and more to the system as soon as they are freed, in the whole process.
    ///
    /// The C library does so only until the first such block is freed; afterwards it caches blocks of that
    /// size, up to 64 MiB for each arena. A few large bodies would keep that much memory resident for good.
    package static func returnLargeBlocks() {
        // Cannot fail: the option is a known constant.
        _ = mallopt(M_MMAP_THRESHOLD, 512 << 10)
    }

    /// Limits the C library's arenas to two for each processor, in the whole process.
    ///
    /// Its own limit is eight for each. Every thread that allocates gets one of them, and each keeps the memory of its busiest
    /// moment: the resident memory after a burst was four times what was in use.
    package static func limitArenas() {
        // Cannot fail: the option is a known constant.
        _ = mallopt(M_ARENA_MAX, CInt(clamping: 2 * ProcessorCount.available()))
    }

    /// Returns free memory to the system, after a single piece of work that needed much.
    package static func trim() { _ = malloc_trim(0) }
}
