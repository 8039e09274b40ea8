import CLinux
import Glibc

/// The size of files that are not open.
package enum FileSize {
    /// Returns the size of the file at `path`.
    package static func bytes(_ path: String) throws(SystemError) -> Int {
        var status = stat()
        // Sound: stat fills the given value.
        _ = try uninterrupted("stat") { unsafe stat(path, &status) }
        return Int(status.st_size)
    }
}
