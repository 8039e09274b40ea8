import CLinux
import Glibc

/// A lock on a file (`flock`), held until the value is destroyed or the process ends.
package final class FileLock: Sendable {
    private let descriptor: Descriptor

    /// Locks the file at `path`, which is created with `mode` if absent, and writes this process's id to it.
    ///
    /// Does not wait: when another open file holds the lock, throws a ``SystemError`` with
    /// ``SystemError/wouldBlock``.
    package init(_ path: String, mode: UInt32 = 0o600) throws(SystemError) {
        descriptor = try Descriptor.open(regular: path, O_RDWR | O_CREAT | O_NOFOLLOW, mode)
        let raw = descriptor.raw
        _ = try uninterrupted("flock") { flock(raw, LOCK_EX | LOCK_NB) }
        _ = try uninterrupted("ftruncate") { ftruncate(raw, 0) }
        try descriptor.writeAll(Array("\(getpid())\n".utf8))
    }

    /// Acquires a shared lock of the file at `path`, which is created with mode 0644 if absent.
    ///
    /// Does not wait: when another open file holds the exclusive lock, throws a ``SystemError`` with
    /// ``SystemError/wouldBlock``.
    package init(sharing path: String) throws(SystemError) {
        descriptor = try Descriptor.open(regular: path, O_RDONLY | O_CREAT | O_NOFOLLOW, 0o644)
        let raw = descriptor.raw
        _ = try uninterrupted("flock") { flock(raw, LOCK_SH | LOCK_NB) }
    }

    // Unlock explicitly: a child that is just being started still has a copy of the descriptor, which would
    // hold the lock until the child executes its program.
    deinit { flock(descriptor.raw, LOCK_UN) }

    /// Returns the process id in the lock file at `path`, if any.
    package static func owner(of path: String) -> Int32? {
        // The number is only for a message, so report the owner of an unreadable lock file as unknown.
        guard let bytes = try? File(path, for: .reading).readAll() else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
