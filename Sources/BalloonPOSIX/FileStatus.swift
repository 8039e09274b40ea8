import CLinux
import Glibc

/// The size, time, mode and owner that the file system records for a file.
package enum FileStatus {
    /// Returns the size of the file at `path`.
    package static func sizeBytes(_ path: String) throws(SystemError) -> Int { Int(try read(path).st_size) }

    /// Returns the time of the last change of the content, in seconds since 1970.
    package static func modifiedSecondsSince1970(_ path: String) throws(SystemError) -> Int {
        Int(try read(path).st_mtim.tv_sec)
    }

    /// Sets the time of the last change to `seconds` since 1970.
    package static func setModified(_ path: String, secondsSince1970 seconds: Int) throws(SystemError) {
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        let times = [time, time]
        // Sound: the two times and the string live during the call.
        _ = try uninterrupted("utimensat") { unsafe utimensat(AT_FDCWD, path, times, 0) }
    }

    /// Returns whether users other than the owner and the group may read the file; false when that is
    /// unknown.
    package static func isReadableByOthers(_ path: String) -> Bool {
        (try? read(path)).map { $0.st_mode & S_IROTH != 0 } ?? false
    }

    /// The owner and the permission bits of a file; a symbolic link is not followed.
    package static func ownerAndMode(of path: String) throws(SystemError) -> (owner: UInt32, mode: UInt32) {
        var status = stat()
        // Sound: lstat fills the given value.
        _ = try uninterrupted("lstat") { unsafe lstat(path, &status) }
        return (status.st_uid, status.st_mode & 0o7777)
    }

    /// Returns whether `path` names a file of this type, such as `S_IFDIR`; false when that is unknown.
    static func isType(_ type: mode_t, _ path: String) -> Bool {
        (try? read(path)).map { $0.st_mode & S_IFMT == type } ?? false
    }

    static func read(_ path: String) throws(SystemError) -> stat {
        var status = stat()
        // Sound: stat fills the given value.
        _ = try uninterrupted("stat") { unsafe stat(path, &status) }
        return status
    }

    static func read(of descriptor: Int32) throws(SystemError) -> stat {
        var status = stat()
        // Sound: fstat fills the given value.
        _ = try uninterrupted("fstat") { unsafe fstat(descriptor, &status) }
        return status
    }
}
