import CLinux

/// The memory that this process has allocated from the system and does not use.
package enum FreeMemory {
    /// Makes the C library return blocks of 512 KiB or more to the system as soon as they are freed.
    ///
    /// This applies to the whole process.
    ///
    /// By default the library does this only until the first such block is freed. Afterwards it caches blocks
    /// of that size, up to 64 MiB for each arena, so that a few large request bodies would keep that much
    /// memory resident.
    package static func returnLargeBlocks() {
        // This call cannot fail: the option is a known constant.
        _ = mallopt(M_MMAP_THRESHOLD, 512 << 10)
    }

    /// Limits the C library to two memory arenas for each processor, in the whole process.
    ///
    /// It has its full effect only before another thread begins.
    ///
    /// The library's own limit is eight for each processor. Each thread that allocates gets an arena, and an
    /// arena keeps the most memory that it ever needed. With fewer arenas than two for each processor, threads wait for each
    /// other: one arena for two processors costs half as much processor time again for each message.
    package static func limitArenas() {
        // This call cannot fail: the option is a known constant.
        _ = mallopt(M_ARENA_MAX, CInt(clamping: 2 * ProcessorCount.available()))
    }

    /// Unmaps the program's code, and returns its size in bytes; each page is mapped again when it is used next.
    ///
    /// Called when the start is over, and after each snapshot. Newer systems map code in large pieces, so work leaves nearly the
    /// whole program resident, and a server that waits uses a quarter of it. The file stays in the system's cache, so a page
    /// returns without a read.
    @discardableResult
    package static func unmapCode() -> Int { balloon_unmap_code() }

    /// Returns free memory to the system; called after a single piece of work that needed much memory.
    package static func trim() { _ = malloc_trim(0) }
}
