import CLinux
import Glibc

/// The access rights of files.
package enum FileMode {
    /// Returns whether users other than the owner and the group may read the file; false when that is
    /// unknown.
    package static func isReadableByOthers(_ path: String) -> Bool {
        var status = stat()
        // Sound: stat fills the given value.
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IROTH != 0
    }
}
