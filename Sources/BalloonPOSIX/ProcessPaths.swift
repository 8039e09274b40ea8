import CLinux
import Glibc

/// Where the process is in the file system.
package enum ProcessPaths {
    /// The absolute path of the running program, links resolved.
    package static func executable() throws(SystemError) -> String {
        guard let path = resolved("/proc/self/exe") else { throw SystemError("realpath") }
        return path
    }

    /// The absolute path of the working directory, links resolved.
    package static func workingDirectory() throws(SystemError) -> String {
        guard let path = unsafe getcwd(nil, 0) else { throw SystemError("getcwd") }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The absolute path of `path`, links resolved; nil when there is no such file.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }
}
