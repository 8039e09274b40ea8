import CLinux
import Glibc
import Synchronization

/// A file that is written through memory, without a system call for each write; what is written survives the end of the
/// process, but not a power failure.
///
/// The space of a page is reserved before the page is written: without space on the disk, the write would end the
/// process (SIGBUS). The file must not be truncated meanwhile. On a file system that maps no files, and at a place behind
/// `maximumBytes` or without space, `pwrite` writes instead.
@safe package final class MappedFile: Sendable {
    private let file: File
    private let maximumBytes: Int
    // Sound: it stays mapped until the end of this value, and only bytes below `reservedBytes` are written. Two
    // threads that write the same place at once would mix their bytes, as with `pwrite`.
    private nonisolated(unsafe) let memory: UnsafeMutableRawPointer?
    private let reservedBytes = Atomic(0)
    private let reserving = Mutex(())
    private static let stepBytes = 4 << 10

    /// Maps the first `maximumBytes`, of which only the written ones take space.
    package init(_ file: File, maximumBytes: Int) {
        self.file = file
        self.maximumBytes = maximumBytes
        unsafe memory = file.map(maximumBytes)
    }

    deinit { if let memory = unsafe memory { unsafe munmap(memory, maximumBytes) } }

    /// Writes all of `bytes` at `offset`; throws when the disk has no space for them.
    package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        let (end, isBeyond) = offset.addingReportingOverflow(bytes.count)
        guard let memory = unsafe memory, !isBeyond, offset >= 0, end <= maximumBytes else {
            return try file.write(bytes, at: offset)
        }
        guard end <= reservedBytes.load(ordering: .acquiring) || reserve(end) else {
            return try file.write(bytes, at: offset)
        }
        // Sound: the place is inside the mapped and reserved bytes.
        unsafe bytes.withUnsafeBytes { bytes in
            unsafe UnsafeMutableRawBufferPointer(start: memory + offset, count: bytes.count).copyMemory(
                from: bytes)
        }
    }

    /// Reserves space up to `end` and a little more; false when the file system has none or cannot reserve any.
    private func reserve(_ end: Int) -> Bool {
        reserving.withLock { _ in
            if end <= reservedBytes.load(ordering: .relaxed) { return true }
            let bytes = min((end / Self.stepBytes + 1) * Self.stepBytes, maximumBytes)
            guard fallocate(file.raw, 0, 0, bytes) == 0 else { return false }
            reservedBytes.store(bytes, ordering: .releasing)
            return true
        }
    }
}

extension File {
    fileprivate func map(_ bytes: Int) -> UnsafeMutableRawPointer? {
        let memory = unsafe mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, raw, 0)
        return unsafe memory == MAP_FAILED ? nil : memory
    }
}
