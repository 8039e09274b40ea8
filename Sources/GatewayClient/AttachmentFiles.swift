package import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Synchronization

/// The contents of attachments on disk: one file for each content, named by its SHA-256.
///
/// A file's path is `DATA/attachments/<2 digits>/<64 digits>`; incomplete files are in
/// `DATA/attachments/incoming`. The modification time of a file is the last time that a message brought its
/// content. The sweep therefore keeps files that a recent message refers to.
package final class AttachmentFiles: Sendable {
    /// A stored file.
    package struct Stored: Sendable, Hashable {
        /// The SHA-256 of the content, 64 lower-case hexadecimal digits.
        package let sha256: String
        /// The file's length in bytes.
        package let sizeBytes: Int
    }

    private let directory: String
    private var incoming: String { directory + "/incoming" }
    /// Held while a file is published or removed, so that the two never overlap.
    private let publishing = Mutex<Void>(())

    /// The folder's name in the data directory.
    package static let folder = "attachments"

    /// Uses the data directory at this path; creates no folder before the first file is stored.
    package init(dataDirectory: String) { directory = "\(dataDirectory)/\(Self.folder)" }

    /// The path for the content with this hash; nil when the text is not a hash.
    package func path(of sha256: String) -> String? {
        guard sha256.utf8.count == 64,
            sha256.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            })
        else { return nil }
        return "\(directory)/\(sha256.prefix(2))/\(sha256)"
    }

    /// The path of the content with this hash; nil when it is not stored.
    package func existing(_ sha256: String) -> String? {
        path(of: sha256).flatMap { Directory.exists($0) ? $0 : nil }
    }

    /// The hashes that begin with `prefix`, sorted.
    package func names(beginning prefix: String) throws(SystemError) -> [String] {
        guard Directory.exists(directory) else { return [] }
        var names: [String] = []
        for folder in try Directory.names(in: directory) where folder.utf8.count == 2 {
            guard folder.hasPrefix(prefix.prefix(2)) else { continue }
            names += try Directory.names(in: "\(directory)/\(folder)").filter { $0.hasPrefix(prefix) }
        }
        return names
    }

    /// Copies a file of the caller, so that it can still be sent when the original changes or disappears;
    /// waits for the disk.
    ///
    /// Throws a ``SystemError``: `EFBIG` for more than `maximumBytes`, `EINVAL` or `EISDIR` when it is not a
    /// regular file.
    package func copy(_ path: String, maximumBytes: Int) throws(SystemError) -> Stored {
        let source = try File(path, for: .readingRegular)
        guard try source.sizeBytes() <= maximumBytes else { throw .fileTooLarge }
        let temporary = try newPath()
        do throws(SystemError) {
            let file = try File(temporary, for: .creating)
            let hash = SHA256Stream()
            var sizeBytes = 0
            while true {
                let piece = try source.read(at: sizeBytes, count: 1 << 16)
                if piece.isEmpty { break }
                sizeBytes += piece.count
                guard sizeBytes <= maximumBytes else { throw .fileTooLarge }
                hash.append(piece)
                try file.append(piece)
            }
            try file.synchronize()
            let sha256 = Hex.encode(hash.bytes)
            try publish(temporary, as: sha256)
            return Stored(sha256: sha256, sizeBytes: sizeBytes)
        } catch {
            // Removing fails when the file was never created; otherwise the next start removes it.
            try? Directory.remove(temporary)
            throw error
        }
    }

    /// Returns an unused path for an incomplete file, in a folder that exists; creates no file.
    func newPath() throws(SystemError) -> String {
        try Directory.make(incoming)
        return "\(incoming)/\(Hex.encode(randomBytes(16)))"
    }

    /// Renames a complete, synced file to the hash of its content.
    ///
    /// When a file with that name exists already, removes the new file and sets the modification time of the
    /// existing file to now.
    func publish(_ temporary: String, as sha256: String) throws(SystemError) {
        guard let path = path(of: sha256) else { return }
        let folder = Directory.parent(of: path)
        try publishing.withLock { _ throws(SystemError) in
            if Directory.exists(path) {
                try FileTime.setModified(path, secondsSince1970: SystemClock.secondsSince1970())
                return try Directory.remove(temporary)
            }
            if try Directory.make(folder) { try Directory.synchronize(directory) }
            try Directory.rename(temporary, to: path)
        }
        try Directory.synchronize(folder)
    }

    /// Removes all incomplete files.
    ///
    /// Called at the start, before the first download: every file in `incoming` is then left from an earlier
    /// process.
    package func removeUnfinished() throws(SystemError) {
        guard Directory.exists(incoming) else { return }
        for name in try Directory.names(in: incoming) { try Directory.remove("\(incoming)/\(name)") }
    }

    /// Removes every file that was last part of a message before `seconds` since 1970; returns the number of
    /// removed files.
    package func sweep(before seconds: Int) throws(SystemError) -> Int {
        guard Directory.exists(directory) else { return 0 }
        var count = 0
        for folder in try Directory.names(in: directory) where folder.utf8.count == 2 {
            for name in try Directory.names(in: "\(directory)/\(folder)") {
                guard let path = path(of: name) else { continue }
                try publishing.withLock { _ throws(SystemError) in
                    guard try FileTime.modifiedSecondsSince1970(path) < seconds else { return }
                    try Directory.remove(path)
                    count += 1
                }
            }
        }
        return count
    }
}

extension ContentSource {
    /// The content of a file, read in pieces while it is sent.
    package init(file path: String) throws(SystemError) {
        let file = try File(path, for: .reading)
        self.init(sizeBytes: try file.sizeBytes()) {
            var position = 0
            return { maximumBytes in
                let piece = try file.read(at: position, count: maximumBytes)
                position += piece.count
                return piece
            }
        }
    }
}
