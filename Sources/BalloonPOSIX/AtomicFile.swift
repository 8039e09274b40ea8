import CLinux
import Glibc
import Synchronization

/// Files that are replaced atomically: a reader sees the old or the new content, also after a power failure.
package enum AtomicFile {
    /// Writes `bytes` to a temporary file beside `path`, syncs and renames it, and then syncs the directory.
    ///
    /// The file has mode 0600. The temporary name is `path` followed by the process id and `.new`, for example
    /// `people.json.57.new`; while another replacement of the same path has that name, `people.json.57-1.new`.
    package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
        try write(to: path) { file throws(SystemError) in try file.append(bytes) }
    }

    /// Writes what `content` appends, as ``write(_:to:)`` does; the content need not be in memory as a whole.
    package static func write(
        to path: String, _ content: (File) throws(SystemError) -> Void
    ) throws(SystemError) {
        try Replacement(of: path, content).install()
        try Directory.synchronize(Directory.parent(of: path))
    }

    /// New content of a file, on disk under a temporary name until it is installed or discarded.
    package struct Replacement: Sendable {
        private let path: String
        private let temporary: String
        private let file: File

        /// Writes `bytes` to the temporary file and syncs it; the file at `path` stays unchanged.
        package init(of path: String, with bytes: [UInt8]) throws(SystemError) {
            try self.init(of: path) { file throws(SystemError) in try file.append(bytes) }
        }

        fileprivate init(
            of path: String, _ content: (File) throws(SystemError) -> Void
        ) throws(SystemError) {
            self.path = path
            temporary = Self.claimName(for: path)
            // Remove the file that a killed process with the same id may have left.
            try? Directory.remove(temporary)
            do throws(SystemError) { file = try File(temporary, for: .creating) } catch {
                Self.names.withLock { [temporary] in _ = $0.remove(temporary) }
                throw error
            }
            do throws(SystemError) {
                try content(file)
                try file.synchronize()
            } catch {
                discard()
                throw error
            }
        }

        /// Appends `bytes` to the temporary file, and renames that file to the path of the file that it
        /// replaces.
        ///
        /// Neither the appended bytes nor the directory are synced.
        package func install(adding bytes: [UInt8] = []) throws(SystemError) {
            do throws(SystemError) {
                if !bytes.isEmpty { try file.append(bytes) }
                try Directory.rename(temporary, to: path)
            } catch {
                discard()
                throw error
            }
            Self.names.withLock { _ = $0.remove(temporary) }
        }

        /// Removes the temporary file; the file at the path stays unchanged.
        package func discard() {
            // If the removal fails, the next replacement of the same path by this process removes the file.
            try? Directory.remove(temporary)
            Self.names.withLock { _ = $0.remove(temporary) }
        }

        /// The temporary names of all replacements in this process that are neither installed nor discarded.
        private static let names = Mutex<Set<String>>([])

        /// Two replacements of one path may exist at the same time, so each gets a name of its own.
        private static func claimName(for path: String) -> String {
            names.withLock { names in
                var name = "\(path).\(getpid()).new"
                var number = 0
                while !names.insert(name).inserted {
                    number += 1
                    name = "\(path).\(getpid())-\(number).new"
                }
                return name
            }
        }
    }
}
