import CLinux
import Glibc

/// The owners of files.
package enum FileOwner {
    /// The effective user of this process.
    package static var currentUser: UInt32 { geteuid() }

    /// Returns the owner and the permission bits of a file; a symbolic link is not followed.
    package static func ownerAndMode(of path: String) throws(SystemError) -> (owner: UInt32, mode: UInt32) {
        var status = stat()
        // Sound: lstat fills the given value.
        _ = try uninterrupted("lstat") { unsafe lstat(path, &status) }
        return (status.st_uid, status.st_mode & 0o7777)
    }
}

extension FileOwner {
    /// Gives the file at `path` the owner of the file at `other`, if this process runs as root; else does
    /// nothing.
    package static func give(_ path: String, toOwnerOf other: String) throws(SystemError) {
        guard currentUser == 0 else { return }
        var status = stat()
        // Sound: stat fills the given value.
        _ = try uninterrupted("stat") { unsafe stat(other, &status) }
        _ = try uninterrupted("chown") { unsafe chown(path, status.st_uid, status.st_gid) }
    }
}
