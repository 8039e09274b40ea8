import BalloonPOSIX
import Glibc

/// The permission bits of the file at `path`.
func mode(_ path: String) throws -> UInt32 {
    var status = stat()
    guard stat(path, &status) == 0 else { throw SystemError("stat") }
    return status.st_mode & 0o777
}
