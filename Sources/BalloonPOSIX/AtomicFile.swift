import CLinux
import Glibc

/// Files that are replaced as a whole: a reader sees the old content or the new, also after a power cut.
package enum AtomicFile {
    /// Writes `bytes` to a temporary name beside `path`, syncs it, renames it and syncs the directory.
    ///
    /// The file has mode 0600. The temporary name is `path` with `.new` and the process's number at its end.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        let temporary = "\(path).\(getpid()).new"
        // Left by a process of the same number that was killed; whether there is one does not matter.
        try? Directory.remove(temporary)
        do throws(SystemError) {
            let file = try File(temporary, for: .creating)
            try file.append(bytes)
            try file.synchronize()
            try Directory.rename(temporary, to: path)
        } catch {
            // The first error is the one to tell.
            try? Directory.remove(temporary)
            throw error
        }
        try Directory.synchronize(Directory.parent(of: path))
    }
}
