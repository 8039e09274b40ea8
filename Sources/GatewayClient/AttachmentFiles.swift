package import BalloonPOSIX
import BalloonTransport
import BalloonWire
import Synchronization

/// The contents of attachments on disk, each once, under the name of its SHA-256.
///
/// `DATA/attachments/<2 digits>/<64 digits>`, and `DATA/attachments/incoming` for what is not whole yet. A file's time is
/// when a message last brought it, so that the sweep keeps what a younger message refers to.
package final class AttachmentFiles: Sendable {
    /// A file that is there.
    package struct Stored: Sendable, Hashable {
        /// The SHA-256 of the content, 64 lower-case hexadecimal digits.
        package let sha256: String
        /// Its length.
        package let sizeBytes: Int
    }

    private let directory: String
    private var incoming: String { directory + "/incoming" }
    /// One at a time gives a file its name or takes one away.
    private let publishing = Mutex<Void>(())

    /// The folder's name in the data directory.
    package static let folder = "attachments"

    /// Takes the path of the data directory; makes nothing before the first file comes.
    package init(dataDirectory: String) { directory = "\(dataDirectory)/\(Self.folder)" }

    /// Where the content of this hash is; nil for what is no hash.
    package func path(of sha256: String) -> String? {
        guard sha256.utf8.count == 64,
            sha256.utf8.allSatisfy({
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            })
        else { return nil }
        return "\(directory)/\(sha256.prefix(2))/\(sha256)"
    }

    /// Where the content of this hash is, if it is there.
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

    /// Copies a file of somebody else's, so that it can be sent whatever becomes of it; waits for the disk.
    ///
    /// Throws a ``SystemError``: `EFBIG` for more than `maximumBytes`, `EINVAL` or `EISDIR` for what is no regular file.
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
            // Nothing there, or left for the next start.
            try? Directory.remove(temporary)
            throw error
        }
    }

    /// A path for a file that is not whole yet.
    func newPath() throws(SystemError) -> String {
        try Directory.make(incoming)
        return "\(incoming)/\(Hex.encode(randomBytes(16)))"
    }

    /// Gives a whole, synced file the name of its content; if that is there already, the file goes and the other one is as
    /// good as new.
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

    /// Removes what is not whole and belongs to no process any more; at the start, before anything is fetched.
    package func removeUnfinished() throws(SystemError) {
        guard Directory.exists(incoming) else { return }
        for name in try Directory.names(in: incoming) { try Directory.remove("\(incoming)/\(name)") }
    }

    /// Removes every file that no message has brought since `seconds` after 1970; returns how many.
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
    /// The content of a file, read piece by piece while it is sent.
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
