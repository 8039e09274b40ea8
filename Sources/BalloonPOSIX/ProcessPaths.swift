import CLinux
import Glibc

/// The paths of the process.
package enum ProcessPaths {
    /// Returns the absolute path of the running program, with links resolved.
    package static func executable() throws(SystemError) -> String {
        guard let path = resolved("/proc/self/exe") else { throw SystemError("realpath") }
        return path
    }

    /// Returns the absolute path of the working directory, with links resolved.
    package static func workingDirectory() throws(SystemError) -> String {
        guard let path = unsafe getcwd(nil, 0) else { throw SystemError("getcwd") }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// Returns the absolute path of `path`, with links resolved; nil when the file does not exist.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(cString: resolved)
    }

    /// Returns the path of an open file of this process; nil when the file has no name any more.
    static func open(_ descriptor: Int32) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Sound: readlink writes at most as many bytes as the array has.
        let count = unsafe max(0, readlink("/proc/self/fd/\(descriptor)", &bytes, bytes.count))
        let path = String(decoding: bytes.prefix(count).map(UInt8.init(truncatingIfNeeded:)), as: UTF8.self)
        return path.isEmpty || path.hasSuffix(" (deleted)") ? nil : path
    }
}
