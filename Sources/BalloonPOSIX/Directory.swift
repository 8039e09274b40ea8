import CLinux
import Glibc

/// Operations on the entries of directories.
package enum Directory {
    /// Creates `path` and its missing parents, each with mode 0700; returns whether `path` was created.
    ///
    /// The entries of created parents are synced, but the entry of `path` is not: the caller syncs the
    /// directory that contains it. Throws `ENOENT` for a path that cannot be created.
    @discardableResult
    package static func make(
        _ path: String, synchronize: (String) throws(SystemError) -> Void = { try synchronize($0) }
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            return try makeLast(path)
        } catch {
            let above = parent(of: path)
            guard error.isMissing, above != path else { throw error }
            if try make(above, synchronize: synchronize) { try synchronize(parent(of: above)) }
            // Retry only once: for an empty path, and below /proc or a removed directory, the parent can
            // never be created.
            return try makeLast(path)
        }
    }

    /// Creates `path` in an existing directory; returns false when the directory `path` existed already.
    private static func makeLast(_ path: String) throws(SystemError) -> Bool {
        // Sound: the string lives during the call.
        if unsafe mkdir(path, 0o700) == 0 { return true }
        let error = SystemError("mkdir")
        guard error.code == EEXIST else { throw error }
        guard isDirectory(path) else { throw SystemError("mkdir", code: ENOTDIR) }
        return false
    }

    /// Returns whether `path` is a directory or a symbolic link to one.
    package static func isDirectory(_ path: String) -> Bool {
        FileStatus.isType(S_IFDIR, path)
    }

    /// Returns whether anything exists at `path`; throws when that cannot be determined.
    ///
    /// A caller that must not mistake an error for a missing file uses this instead of ``exists(_:)``.
    package static func holds(_ path: String) throws(SystemError) -> Bool {
        if unsafe access(path, F_OK) == 0 { return true }
        let error = SystemError("access")
        guard error.isMissing || error.code == ENOTDIR else { throw error }
        return false
    }

    /// Throws a ``SystemError`` when this process may not create and rename files in the directory.
    package static func checkWritable(_ path: String) throws(SystemError) {
        _ = try uninterrupted("faccessat") {
            unsafe faccessat(AT_FDCWD, path, W_OK | X_OK, Int32(AT_EACCESS))
        }
    }

    /// Whether anything exists at `path`; false when that cannot be determined.
    package static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// Returns the names in the directory, sorted by bytes, without `.` and `..`.
    package static func names(in path: String) throws(SystemError) -> [String] {
        guard let stream = unsafe opendir(path) else { throw SystemError("opendir") }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        errno = 0
        // Sound: an entry is valid until the next readdir on its stream, and its name ends with a NUL.
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { raw in
                unsafe String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
            errno = 0
        }
        guard errno == 0 else { throw SystemError("readdir") }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Waits until the directory's entries are on disk (`fsync`), or in their ``DurableCopy``.
    package static func synchronize(_ path: String) throws(SystemError) {
        if let kept = DurableCopies.of(path + "/.") {
            return try kept.copy.synchronize(entriesOf: parent(of: kept.path))
        }
        let directory = try descriptor(of: path)
        _ = try uninterrupted("fsync") { fsync(directory.raw) }
    }

    /// Waits until the whole file system that contains `path` is on disk (`syncfs`).
    package static func synchronizeFileSystem(of path: String) throws(SystemError) {
        let directory = try descriptor(of: path)
        _ = try uninterrupted("syncfs") { balloon_syncfs(directory.raw) }
    }

    /// Renames `old` to `new`, replacing an existing entry.
    package static func rename(_ old: String, to new: String) throws(SystemError) {
        try change([old, new]) { () throws(SystemError) in
            _ = try uninterrupted("rename") { unsafe Glibc.rename(old, new) }
        }
    }

    /// Gives the file `old` another name (`link`); throws `EEXIST` when something has that name.
    package static func link(_ old: String, to new: String) throws(SystemError) {
        try change([new]) { () throws(SystemError) in
            _ = try uninterrupted("link") { unsafe Glibc.link(old, new) }
        }
    }

    /// Runs `change`, which changes the entries `paths`, and tells their ``DurableCopy``.
    private static func change(
        _ paths: [String], _ change: () throws(SystemError) -> Void
    ) throws(SystemError) {
        let kept = paths.compactMap { DurableCopies.of($0) }
        guard let copy = kept.first?.copy else { return try change() }
        try copy.change(kept.map(\.path), change)
    }

    /// Makes the file executable for everyone: mode 0755.
    package static func makeExecutable(_ path: String) throws(SystemError) {
        _ = try uninterrupted("chmod") { unsafe chmod(path, 0o755) }
    }

    /// Makes the file readable for everyone: mode 0644.
    package static func makeReadable(_ path: String) throws(SystemError) {
        _ = try uninterrupted("chmod") { unsafe chmod(path, 0o644) }
    }

    /// Removes the file at `path` (`unlink`).
    package static func remove(_ path: String) throws(SystemError) {
        try change([path]) { () throws(SystemError) in
            _ = try uninterrupted("unlink") { unsafe unlink(path) }
        }
    }

    /// Removes an empty directory.
    package static func removeEmpty(_ path: String) throws(SystemError) {
        _ = try uninterrupted("rmdir") { unsafe rmdir(path) }
    }

    /// Removes a directory with everything in it; a symbolic link in it is removed and not followed.
    ///
    /// Throws the first error after everything else is removed.
    package static func removeAll(_ path: String) throws(SystemError) {
        var failure: SystemError?
        for name in try names(in: path) {
            let inner = path + "/" + name
            do throws(SystemError) { try remove(inner) } catch {
                if error.isMissing { continue }
                do throws(SystemError) {
                    guard isDirectory(inner) else { throw error }
                    try removeAll(inner)
                } catch { failure = failure ?? error }
            }
        }
        if let failure { throw failure }
        try removeEmpty(path)
    }

    /// Returns the directory that contains `path`: the part before its last slash.
    package static func parent(of path: String) -> String {
        let bytes = path.utf8
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == bytes.startIndex ? "/" : String(path[..<slash])
    }

    private static func descriptor(of path: String) throws(SystemError) -> Descriptor {
        Descriptor(
            owning: try uninterrupted("open") { unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    }
}
