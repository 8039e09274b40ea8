import CLinux
import Glibc

/// Files that are replaced as a whole: a reader sees the old content or the new, also after a power cut.
package enum AtomicFile {
    /// Writes `bytes` to a temporary name beside `path`, syncs it, renames it and syncs the directory.
    ///
    /// The file has mode 0600. The temporary name is `path` with `.new` and the process's number at its end.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        try Replacement(of: path, with: bytes).install()
        try Directory.synchronize(Directory.parent(of: path))
    }

    /// A file's new content, on disk under the temporary name until it is installed or discarded.
    package struct Replacement: Sendable {
        private let path: String
        private let temporary: String
        private let file: File

        /// Writes `bytes` and syncs them.
        package init(of path: String, with bytes: [UInt8]) throws(SystemError) {
            self.path = path
            temporary = "\(path).\(getpid()).new"
            // Left by a process of the same number that was killed; whether there is one does not matter.
            try? Directory.remove(temporary)
            file = try File(temporary, for: .creating)
            do throws(SystemError) {
                try file.append(bytes)
                try file.synchronize()
            } catch {
                discard()
                throw error
            }
        }

        /// Gives the file the name of the one that it replaces, with `bytes` at its end, which are not synced; nor is the
        /// directory.
        package func install(adding bytes: [UInt8] = []) throws(SystemError) {
            do throws(SystemError) {
                if !bytes.isEmpty { try file.append(bytes) }
                try Directory.rename(temporary, to: path)
            } catch {
                discard()
                throw error
            }
        }

        /// Removes the file.
        package func discard() {
            // One that stays is removed by the next replacement of the same file.
            try? Directory.remove(temporary)
        }
    }
}
