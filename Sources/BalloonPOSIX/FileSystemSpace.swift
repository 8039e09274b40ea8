import Glibc

/// The space of a file system.
package enum FileSystemSpace {
    /// Returns the number of bytes that this process may still write to the file system of `path`.
    package static func freeBytes(at path: String) throws(SystemError) -> UInt64 {
        var status = statvfs()
        // Sound: statvfs fills the given value.
        _ = try uninterrupted("statvfs") { unsafe statvfs(path, &status) }
        return UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize)).partialValue
    }
}
