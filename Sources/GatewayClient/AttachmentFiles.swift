package import BalloonPOSIX
import BalloonTransport
import BalloonWire
package import BusinessMessages
import Synchronization

/// The contents of attachments on disk: one file for each content, named by its SHA-256.
///
/// A file's path is `DATA/attachments/<2 digits>/<64 digits>`; incomplete files are in
/// `DATA/attachments/incoming`. Each message with a content sets the modification time of its file to now, and that of an
/// empty file beside it for the message's business; see `ContentUse`. `sweep` therefore keeps a file for as long as
/// one of its businesses wants.
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
    /// The lock that publishing and removing a file hold, so that they never overlap.
    private let publishing = Mutex<Void>(())
    /// The contents of every ``ContentHold``, with the number of holds.
    private let held = Mutex<[String: Int]>([:])

    /// The folder's name in the data directory.
    package static let folder = "attachments"

    /// Uses the data directory at this path; creates no folder before the first file is stored.
    package init(dataDirectory: String) { directory = "\(dataDirectory)/\(Self.folder)" }

    /// Returns the path for the content with this hash; nil when the text is not a hash.
    package func path(of sha256: String) -> String? {
        guard sha256.utf8.count == 64, sha256.utf8.allSatisfy(\.isLowercaseHexDigit) else { return nil }
        return "\(directory)/\(sha256.prefix(2))/\(sha256)"
    }

    /// Returns the path of the content with this hash; nil when the content is not stored.
    package func existing(_ sha256: String) -> String? {
        path(of: sha256).flatMap { Directory.exists($0) ? $0 : nil }
    }

    /// Returns the hashes that begin with `prefix`, sorted.
    package func names(beginning prefix: String) throws(SystemError) -> [String] {
        guard Directory.exists(directory) else { return [] }
        var names: [String] = []
        for folder in try Directory.names(in: directory) where folder.utf8.count == 2 {
            guard folder.hasPrefix(prefix.prefix(2)) else { continue }
            // The other files of the folder are those of ``ContentUse``.
            names += try Directory.names(in: "\(directory)/\(folder)").filter {
                $0.hasPrefix(prefix) && path(of: $0) != nil
            }
        }
        return names
    }

    /// Copies a file of the caller, so that the content can still be sent after the original has changed or
    /// disappeared.
    ///
    /// Waits for the disk. Throws a ``SystemError``: `EFBIG` for more than `maximumBytes`, `EINVAL` or
    /// `EISDIR` when the path is not a regular file.
    package func copy(
        _ path: String, maximumBytes: Int, into hold: ContentHold
    ) throws(SystemError) -> Stored {
        let source = try File(path, for: .readingGiven)
        guard try source.sizeBytes() <= maximumBytes else { throw .fileTooLarge }
        let temporary = try newPath()
        do throws(SystemError) {
            let file = try File(temporary, for: .creating)
            var hash = SHA256()
            var sizeBytes = 0
            while true {
                let piece = try source.read(at: sizeBytes, count: 1 << 16)
                if piece.isEmpty { break }
                sizeBytes += piece.count
                guard sizeBytes <= maximumBytes else { throw .fileTooLarge }
                hash.update(piece.span)
                try file.append(piece)
            }
            try file.synchronize()
            let sha256 = Hex.encode(hash.digest)
            try publish(temporary, as: sha256, into: hold)
            return Stored(sha256: sha256, sizeBytes: sizeBytes)
        } catch {
            // If the removal fails, the file was never created, or the next start removes it.
            try? Directory.remove(temporary)
            throw error
        }
    }

    /// Returns an unused path for an incomplete file, and creates its folder, but not the file.
    func newPath() throws(SystemError) -> String {
        try Directory.make(incoming)
        return "\(incoming)/\(Hex.encode(randomBytes(16)))"
    }

    /// Renames a complete, synced file to the hash of its content, and records the use by the business.
    ///
    /// When a file with that name exists already, removes the new file and sets the modification time of the
    /// existing file to now.
    func publish(
        _ temporary: String, as sha256: String, into hold: ContentHold
    ) throws(SystemError) {
        guard let path = path(of: sha256) else { return }
        let folder = Directory.parent(of: path)
        let use = path + "." + ContentUse.name(of: hold.business)
        hold.add(sha256)
        try publishing.withLock { _ throws(SystemError) in
            let now = SystemClock.secondsSince1970()
            if Directory.exists(path) {
                if !Directory.exists(use) {
                    let older = try FileStatus.modifiedSecondsSince1970(path)
                    let names = try Directory.names(in: folder)
                    if !names.contains(where: { ContentUse(name: $0)?.sha256 == sha256[...] }) {
                        try record(path + "." + ContentUse.anyBusiness, at: older)
                    }
                }
                try FileStatus.setModified(path, secondsSince1970: now)
                try Directory.remove(temporary)
            } else {
                if try Directory.make(folder) { try Directory.synchronize(directory) }
                try Directory.rename(temporary, to: path)
            }
            try record(use, at: now)
        }
        try Directory.synchronize(folder)
    }

    /// Returns a hold for the contents that a message of this business brings.
    package func hold(for business: BusinessID) -> ContentHold { ContentHold(business, self) }

    /// The contents that are held: no record may name them yet.
    package var heldContents: Set<String> { Set(held.withLock(\.keys)) }

    func changeHeld(_ change: (inout [String: Int]) -> Void) { held.withLock { change(&$0) } }

    /// Runs `body` while no content gets a name and none is removed.
    package func excludingChanges(_ body: () -> Void) { publishing.withLock { _ in body() } }

    private func record(_ use: String, at seconds: Int) throws(SystemError) {
        if !Directory.exists(use) { _ = try File(use, for: .creating) }
        try FileStatus.setModified(use, secondsSince1970: seconds)
    }

    /// Removes all incomplete files.
    ///
    /// Must be called at the start, before the first download: all files in `incoming` are then from an
    /// earlier process.
    package func removeUnfinished() throws(SystemError) {
        guard Directory.exists(incoming) else { return }
        for name in try Directory.names(in: incoming) { try Directory.remove("\(incoming)/\(name)") }
    }

    /// Removes every content that no business keeps any longer at `now`, in seconds since 1970; returns the number of
    /// removed contents.
    ///
    /// Holds the lock for one folder at a time, a 256th of all contents.
    package func sweep(at now: Int, _ periods: AttachmentPeriods) throws(SystemError) -> Int {
        guard Directory.exists(directory) else { return 0 }
        var count = 0
        for folder in try Directory.names(in: directory) where folder.utf8.count == 2 {
            count += try publishing.withLock { _ throws(SystemError) in
                try sweepFolder("\(directory)/\(folder)", at: now, periods)
            }
        }
        return count
    }

    private func sweepFolder(
        _ folder: String, at now: Int, _ periods: AttachmentPeriods
    ) throws(SystemError) -> Int {
        func isDue(_ name: String, after period: Duration?) throws(SystemError) -> Bool {
            guard let period else { return false }
            let modified = try FileStatus.modifiedSecondsSince1970(folder + "/" + name)
            return modified < now - Int(period.components.seconds)
        }
        let names = try Directory.names(in: folder)
        var uses = Dictionary(grouping: names.compactMap(ContentUse.init(name:)), by: \.sha256)
        var count = 0
        for content in names where path(of: content) != nil {
            let uses = uses.removeValue(forKey: content[...]) ?? []
            var isKept = false
            if uses.isEmpty { isKept = try !isDue(content, after: periods.general) }
            for use in uses where !isKept {
                isKept = try !isDue(use.name, after: periods.period(of: use.business))
            }
            if isKept { continue }
            try Directory.remove(folder + "/" + content)
            for use in uses { try Directory.remove(folder + "/" + use.name) }
            count += 1
        }
        // A content that was removed by another program.
        for use in uses.values.joined() { try Directory.remove(folder + "/" + use.name) }
        return count
    }
}

extension ContentSource {
    /// Creates content that is read from a file in pieces while it is sent.
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
