import CLinux
import Glibc

/// The owners of files.
package enum FileOwner {
    /// The user whose rights this process has.
    package static var currentUser: UInt32 { geteuid() }

    /// The owner and the permission bits of a file; a symbolic link is not followed.
    package static func ownerAndMode(of path: String) throws(SystemError) -> (owner: UInt32, mode: UInt32) {
        var status = stat()
        // Sound: lstat fills the given value.
        _ = try uninterrupted("lstat") { unsafe lstat(path, &status) }
        return (status.st_uid, status.st_mode & 0o7777)
    }
}
