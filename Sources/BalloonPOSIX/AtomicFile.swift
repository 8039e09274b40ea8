import CLinux
import Glibc

/// Files that are replaced atomically: a reader sees the old or the new content, also after a power failure.
package enum AtomicFile {
    /// Writes `bytes` to a temporary name beside `path`, syncs it, renames it and syncs the directory.
    ///
    /// The file has mode 0600. The temporary name is `path` followed by `.new` and the process id.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        try Replacement(of: path, with: bytes).install()
        try Directory.synchronize(Directory.parent(of: path))
    }

    /// New content of a file, on disk under a temporary name until it is installed or discarded.
    package struct Replacement: Sendable {
        private let path: String
        private let temporary: String
        private let file: File

        /// Writes and syncs `bytes`.
        package init(of path: String, with bytes: [UInt8]) throws(SystemError) {
            self.path = path
            temporary = "\(path).\(getpid()).new"
            // A leftover of a killed process with the same id; it may not exist.
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

        /// Renames the file to the one that it replaces, after appending `bytes`.
        ///
        /// Neither these bytes nor the directory are synced.
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
            // A leftover is removed by the next replacement of the same file.
            try? Directory.remove(temporary)
        }
    }
}
