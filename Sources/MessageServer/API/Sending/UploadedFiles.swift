import BalloonPOSIX
import BalloonWire
import BusinessMessages
import Synchronization

/// The files that programs uploaded for messages that they will send.
///
/// `DATA/outgoing/<SHA-256 of the business, 32 digits>/<id>`; incomplete files are in `DATA/outgoing/incoming`. A
/// message gets a copy when it is stored. A file is deleted a day after its upload, or ten minutes after its use in a
/// message: its modification time is the time of the upload, and is set back when it is used.
final class UploadedFiles: Sendable {
    /// The limits for each business.
    struct Limits: Sendable {
        /// The maximum number of files.
        var files = 1000
        /// The maximum bytes of the files together.
        var bytes = 2 << 30
        /// The maximum number of uploads at a time.
        var uploads = 8
    }

    /// The reason why an upload cannot begin.
    enum Refusal: Error, Equatable {
        /// The business has too many files, or files of too many bytes together.
        case full
        /// The business has too many uploads at the moment.
        case busy
    }

    private let directory: String
    private let limits: Limits
    private var incoming: String { directory + "/incoming" }
    /// The number of uploads of each business at the moment.
    private let uploads = Mutex<[String: Int]>([:])
    private let start = (clock: SystemClock.secondsSince1970(), at: ContinuousClock.now)

    /// The time from an upload until its file is deleted.
    static let lifetimeSeconds = 86_400
    /// The time from the use of a file until it is deleted.
    static let usedLifetimeSeconds = 600

    /// Uses the data directory at this path; the first upload creates the folders.
    init(dataDirectory: String, limits: Limits = Limits()) {
        directory = dataDirectory + "/outgoing"
        self.limits = limits
    }

    /// The time to compute ages of files with: it ignores a wall clock that is set forward, so that no file expires
    /// early.
    private var now: Int {
        min(
            SystemClock.secondsSince1970(),
            start.clock + Int(start.at.duration(to: .now).components.seconds))
    }

    private func folder(of business: BusinessID) -> String {
        "\(directory)/\(Hex.encode(SHA256.hash(Array(business.rawValue.utf8))).prefix(32))"
    }

    /// Whether a text has the form of a file's identifier.
    static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The path of a file of this business; nil when it has no such file.
    func path(of id: String, for business: BusinessID) -> String? {
        guard Self.isIdentifier(id) else { return nil }
        let path = folder(of: business) + "/" + id
        return Directory.exists(path) ? path : nil
    }

    /// Makes a file that a message used expire in ten minutes.
    func markUsed(_ id: String, of business: BusinessID) {
        guard let path = path(of: id, for: business) else { return }
        // If the time cannot be set, the file is deleted a day after its upload.
        try? FileTime.setModified(
            path, secondsSince1970: now - Self.lifetimeSeconds + Self.usedLifetimeSeconds)
    }

    /// Begins an upload; throws a ``Refusal`` or a ``SystemError``.
    func begin(for business: BusinessID) throws -> Upload {
        let folder = folder(of: business)
        try uploads.withLock { uploads in
            guard uploads[folder, default: 0] < limits.uploads else { throw Refusal.busy }
            uploads[folder, default: 0] += 1
        }
        do {
            try sweep(folder)
            let used = try usage(of: folder)
            guard used.files < limits.files, used.bytes < limits.bytes else { throw Refusal.full }
            try Directory.make(incoming)
            return try Upload(
                temporary: "\(incoming)/\(Hex.encode(randomBytes(16)))", folder: folder, owner: self)
        } catch {
            end(folder)
            throw error
        }
    }

    private func usage(of folder: String) throws(SystemError) -> (files: Int, bytes: Int) {
        guard Directory.exists(folder) else { return (0, 0) }
        var used = (files: 0, bytes: 0)
        for name in try Directory.names(in: folder) {
            used.files += 1
            do throws(SystemError) {
                used.bytes += try File(folder + "/" + name, for: .reading).sizeBytes()
            } catch {
                // The hourly sweep may have deleted the file since its name was read.
                if !error.isMissing { throw error }
            }
        }
        return used
    }

    fileprivate func end(_ folder: String) {
        uploads.withLock { uploads in
            uploads[folder, default: 1] -= 1
            if uploads[folder] == 0 { uploads[folder] = nil }
        }
    }

    /// Removes all incomplete files; called at the start, before the first upload.
    func removeUnfinished() throws(SystemError) {
        guard Directory.exists(incoming) else { return }
        for name in try Directory.names(in: incoming) { try Directory.remove("\(incoming)/\(name)") }
    }

    /// Deletes the expired files of every business; returns their number.
    @discardableResult
    func sweep() throws(SystemError) -> Int {
        guard Directory.exists(directory) else { return 0 }
        var count = 0
        for name in try Directory.names(in: directory) where name.utf8.count == 32 {
            count += try sweep("\(directory)/\(name)")
        }
        return count
    }

    @discardableResult
    private func sweep(_ folder: String) throws(SystemError) -> Int {
        guard Directory.exists(folder) else { return 0 }
        var count = 0
        for name in try Directory.names(in: folder) {
            let path = "\(folder)/\(name)"
            do throws(SystemError) {
                guard try FileTime.modifiedSecondsSince1970(path) + Self.lifetimeSeconds <= now else {
                    continue
                }
                try Directory.remove(path)
                count += 1
            } catch {
                // Another sweep may have deleted the file already.
                if !error.isMissing { throw error }
            }
        }
        return count
    }
}

extension UploadedFiles {
    /// An upload in progress; its incomplete file is removed when it is abandoned.
    final class Upload: Sendable {
        private let file: File
        private let temporary: String
        private let folder: String
        private let owner: UploadedFiles
        private let isFinished = OnceFlag()

        fileprivate init(temporary: String, folder: String, owner: UploadedFiles) throws(SystemError) {
            file = try File(temporary, for: .creating)
            self.temporary = temporary
            self.folder = folder
            self.owner = owner
        }

        /// Writes the next bytes.
        func append(_ bytes: [UInt8]) throws(SystemError) { try file.append(bytes) }

        /// Makes the file durable; returns its identifier.
        func finish() throws(SystemError) -> String {
            try file.synchronize()
            if try Directory.make(folder) { try Directory.synchronize(Directory.parent(of: folder)) }
            let id = Hex.encode(randomBytes(16))
            try Directory.rename(temporary, to: "\(folder)/\(id)")
            _ = isFinished.claim()
            try Directory.synchronize(folder)
            return id
        }

        deinit {
            // If the file cannot be removed, the next start of the server removes it.
            if isFinished.claim() { try? Directory.remove(temporary) }
            owner.end(folder)
        }
    }
}
