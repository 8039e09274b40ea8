import BalloonPOSIX
import Glibc

/// A file system in memory, unmounted when the value is destroyed; only root can create one.
public final class SmallDisk: Sendable {
    private let temporary = TemporaryDirectory()
    /// The mount point.
    public let path: String

    /// Whether this process may mount file systems.
    public static let isAllowed: Bool = (try? SmallDisk(bytes: 64 << 10)) != nil

    /// Mounts a file system in a new directory, or at `path`.
    public init(bytes: Int, at path: String? = nil) throws {
        self.path = path ?? temporary.file("disk")
        try Directory.make(self.path)
        guard mount("tmpfs", self.path, "tmpfs", 0, "size=\(bytes)") == 0 else { throw SystemError("mount") }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    /// Makes the file system read-only.
    public func makeReadOnly() throws {
        try remount(UInt(MS_RDONLY), nil)
    }

    /// Changes the size of the file system.
    public func resize(to bytes: Int) throws { try remount(0, "size=\(bytes)") }

    private func remount(_ flags: UInt, _ options: String?) throws {
        guard mount("tmpfs", path, "tmpfs", UInt(MS_REMOUNT) | flags, options) == 0 else {
            throw SystemError("mount")
        }
    }
}
