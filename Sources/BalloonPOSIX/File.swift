import CLinux
import Glibc

/// An open regular file; its descriptor closes with the last reference.
package final class File: Sendable {
    /// The access mode of a file.
    package enum Access: Sendable {
        /// Reading an existing file of this program, such as one in a data directory.
        case reading
        /// Reading an existing file whose path a person or a handler gave; symbolic links are followed.
        case readingGiven
        /// Reading and appending; created with mode 0600 if absent.
        case appending
        /// Reading and writing a new file with mode 0600, at any offset or sequentially; fails when the file
        /// exists.
        case creating
        /// Reading, and writing at any offset; created with mode 0600 if absent.
        case overwriting
    }

    private let descriptor: Descriptor
    var raw: Int32 { descriptor.raw }

    /// Opens `path`.
    ///
    /// A symbolic link is refused with `ELOOP`, except one that a person or a handler gave: the program makes none, and
    /// another user may have put it there to have a file read or written that is not the user's. Anything else except a
    /// regular file is refused with `EINVAL`, `EISDIR` or `ENXIO`, without blocking.
    package init(_ path: String, for access: Access) throws(SystemError) {
        let flags: Int32 =
            switch access {
            case .reading: O_RDONLY | O_NOFOLLOW
            case .readingGiven: O_RDONLY
            case .appending: O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW
            case .creating: O_RDWR | O_CREAT | O_EXCL
            case .overwriting: O_RDWR | O_CREAT | O_NOFOLLOW
            }
        guard access == .creating || access == .overwriting, let kept = DurableCopies.of(path) else {
            descriptor = try Descriptor.open(regular: path, flags)
            return
        }
        var opened: Descriptor?
        try kept.copy.change([kept.path]) { () throws(SystemError) in
            opened = try Descriptor.open(regular: path, flags)
        }
        guard let opened else { throw SystemError("open", code: EIO) }
        descriptor = opened
    }

    /// Writes all of `bytes` at the end of a file that was opened for appending.
    ///
    /// In a file opened with ``Access/creating``, the bytes follow those that this method wrote before.
    package func append(_ bytes: [UInt8]) throws(SystemError) { try descriptor.writeAll(bytes) }

    /// Appends a line to a file that was opened for appending.
    ///
    /// Ends the last line first when a crash or a full disk has left it incomplete, so that only that line is lost.
    package func appendLine(_ line: [UInt8]) throws(SystemError) {
        let size = try sizeBytes()
        var isIncomplete = false
        if size > 0 { isIncomplete = try read(at: size - 1, count: 1) != [UInt8(ascii: "\n")] }
        try append((isIncomplete ? [UInt8(ascii: "\n")] : []) + line + [UInt8(ascii: "\n")])
    }

    /// Waits for an exclusive lock on the file (`flock`), which ends with the last reference to this value.
    package func lock() throws(SystemError) {
        _ = try uninterrupted("flock") { flock(descriptor.raw, LOCK_EX) }
    }

    /// Whether the file is still the one at `path`; false after the path was renamed or replaced.
    package func isAt(_ path: String) -> Bool {
        guard let own = try? FileStatus.read(of: raw), let other = try? FileStatus.read(path) else {
            return false
        }
        return own.st_dev == other.st_dev && own.st_ino == other.st_ino
    }

    /// Writes all of `bytes` at `offset`; not for a file opened for appending.
    package func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        let raw = descriptor.raw
        var written = 0
        while written < bytes.count {
            let start = written
            written += try uninterrupted("pwrite") {
                // Sound: the write stays inside the array, which lives during the call.
                unsafe bytes.withUnsafeBytes { buffer in
                    unsafe pwrite(
                        raw, buffer.baseAddress.map { unsafe $0 + start }, bytes.count - start, offset + start
                    )
                }
            }
        }
    }

    /// Waits until the file's content is on disk (`fdatasync`), or in its ``DurableCopy``.
    package func synchronizeData() throws(SystemError) {
        if let kept = DurableCopies.of(raw) { return try kept.copy.synchronize([kept.path]) }
        _ = try uninterrupted("fdatasync") { fdatasync(descriptor.raw) }
    }

    /// Waits until the file's content and attributes are on disk (`fsync`), or in its ``DurableCopy``.
    package func synchronize() throws(SystemError) {
        if let kept = DurableCopies.of(raw) { return try kept.copy.synchronize([kept.path]) }
        _ = try uninterrupted("fsync") { fsync(descriptor.raw) }
    }

    /// Whether a ``DurableCopy`` keeps the file.
    package var isKeptElsewhere: Bool { DurableCopies.of(raw) != nil }

    /// Keeps what was written over earlier content in the file's ``DurableCopy``, if it has one, and waits for that if `isAwaited`.
    package func keepOverwritten(isAwaited: Bool) throws(SystemError) {
        guard let kept = DurableCopies.of(raw) else { return }
        try kept.copy.change([kept.path]) {}
        if isAwaited { try kept.copy.synchronize([kept.path]) }
    }

    /// Truncates the file, or extends it with zeros, to `sizeBytes`.
    package func truncate(to sizeBytes: Int) throws(SystemError) {
        let change = { () throws(SystemError) in
            _ = try uninterrupted("ftruncate") { ftruncate(self.raw, sizeBytes) }
        }
        guard let kept = DurableCopies.of(raw) else { return try change() }
        try kept.copy.change([kept.path], change)
    }

    /// Drops the file's pages from the system's cache, so that the next read is from the disk.
    ///
    /// Unsynced data stays cached; call ``synchronizeData()`` first to drop everything.
    package func dropCache() { posix_fadvise(descriptor.raw, 0, 0, POSIX_FADV_DONTNEED) }

    /// Returns the current size of the file.
    package func sizeBytes() throws(SystemError) -> Int { Int(try FileStatus.read(of: raw).st_size) }

    /// Reads `count` bytes from `offset`; fewer at the end of the file.
    package func read(at offset: Int, count: Int) throws(SystemError) -> [UInt8] {
        try [UInt8](capacity: count) { span throws(SystemError) in
            // Sound: every read stays inside the buffer, and only read bytes count as initialized.
            try unsafe span.withUnsafeMutableBufferPointer { buffer, filled throws(SystemError) in
                while filled < count {
                    let done = filled
                    let got = try uninterrupted("pread") {
                        unsafe pread(
                            raw, buffer.baseAddress.map { unsafe $0 + done }, count - done, offset + done)
                    }
                    if got == 0 { break }
                    filled += got
                }
            }
        }
    }

    /// Reads from `offset` into `buffer[position...]` until the buffer is full or the file ends.
    ///
    /// Returns the number of bytes read.
    package func read(
        at offset: Int, into buffer: inout [UInt8], from position: Int
    ) throws(SystemError) -> Int {
        precondition(position >= 0 && position <= buffer.count)
        let raw = descriptor.raw
        var filled = 0
        while position + filled < buffer.count {
            let done = filled
            let got = try uninterrupted("pread") {
                // Sound: the read stays inside the array, which the closure may write.
                unsafe buffer.withUnsafeMutableBytes { buffer in
                    unsafe pread(
                        raw, buffer.baseAddress.map { unsafe $0 + position + done },
                        buffer.count - position - done, offset + done)
                }
            }
            if got == 0 { break }
            filled += got
        }
        return filled
    }

    /// Reads the whole file; throws `EFBIG` when it has more than `maximumBytes`.
    package func readAll(maximumBytes: Int = .max) throws(SystemError) -> [UInt8] {
        let count = try sizeBytes()
        guard count <= maximumBytes else { throw .fileTooLarge }
        return try read(at: 0, count: count)
    }
}
