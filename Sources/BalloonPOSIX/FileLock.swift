import CLinux
import Glibc

/// A lock on a file (`flock`), held until the value is destroyed or the process ends.
package final class FileLock: Sendable {
    private let descriptor: Descriptor

    /// Locks the file at `path`, created if absent, and writes this process's id to it.
    ///
    /// When another open file holds the lock, throws at once a ``SystemError`` with
    /// ``SystemError/wouldBlock``.
    /// A new file has `mode`.
    package init(_ path: String, mode: UInt32 = 0o600) throws(SystemError) {
        let raw = try uninterrupted("open") { unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode) }
        descriptor = Descriptor(owning: raw)
        _ = try uninterrupted("flock") { flock(raw, LOCK_EX | LOCK_NB) }
        _ = try uninterrupted("ftruncate") { ftruncate(raw, 0) }
        try descriptor.writeAll(Array("\(getpid())\n".utf8))
    }

    /// Shares the lock of the file at `path`, created with mode 0644 if absent, with others that share it.
    ///
    /// While another open file holds the lock exclusively, throws at once a ``SystemError`` with
    /// ``SystemError/wouldBlock``.
    package init(sharing path: String) throws(SystemError) {
        let raw = try uninterrupted("open") { unsafe open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0o644) }
        descriptor = Descriptor(owning: raw)
        _ = try uninterrupted("flock") { flock(raw, LOCK_SH | LOCK_NB) }
    }

    // Closing alone would not suffice: a child that is being started holds a copy of the descriptor until it
    // executes.
    deinit { flock(descriptor.raw, LOCK_UN) }

    /// The process id in the lock file at `path`, if any.
    package static func owner(of path: String) -> Int32? {
        // The number is only for a message: an unreadable lock has an unknown owner.
        guard let bytes = try? File(path, for: .reading).readAll() else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
