import CLinux
import Glibc

/// An exclusive lock on a file (`flock`), held until the value goes or the process ends.
package final class FileLock: Sendable {
    private let descriptor: Descriptor

    /// Takes the lock on the file at `path`, made if absent, and writes this process's number into it.
    ///
    /// Throws a ``SystemError`` that ``SystemError/wouldBlock`` at once when another open file holds the
    /// lock.
    package init(_ path: String) throws(SystemError) {
        let raw = try uninterrupted("open") { unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
        descriptor = Descriptor(owning: raw)
        _ = try uninterrupted("flock") { flock(raw, LOCK_EX | LOCK_NB) }
        _ = try uninterrupted("ftruncate") { ftruncate(raw, 0) }
        try descriptor.writeAll(Array("\(getpid())\n".utf8))
    }

    // Closing alone would not do: a child that is just being started holds a copy of the descriptor until it executes.
    deinit { flock(descriptor.raw, LOCK_UN) }

    /// The number of the process that wrote itself into the lock at `path`, if one did.
    package static func owner(of path: String) -> Int32? {
        // The number is only for a message: a lock that cannot be read has an unknown owner.
        guard let bytes = try? File(path, for: .reading).readAll() else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self))
    }
}
