import CLinux
import Glibc

/// The modification times of files.
package enum FileTime {
    /// Returns the time of the last change of the content, in seconds since 1970.
    package static func modifiedSecondsSince1970(_ path: String) throws(SystemError) -> Int {
        var status = stat()
        // Sound: stat fills the given value.
        _ = try uninterrupted("stat") { unsafe stat(path, &status) }
        return Int(status.st_mtim.tv_sec)
    }

    /// Sets the time of the last change to `seconds` since 1970.
    package static func setModified(_ path: String, secondsSince1970 seconds: Int) throws(SystemError) {
        let time = timespec(tv_sec: seconds, tv_nsec: 0)
        let times = [time, time]
        // Sound: the two times and the string live during the call.
        _ = try uninterrupted("utimensat") { unsafe utimensat(AT_FDCWD, path, times, 0) }
    }
}
