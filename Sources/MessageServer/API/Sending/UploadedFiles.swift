import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore
import Synchronization

/// The files that programs uploaded for messages that they will send.
///
/// Their paths are `DATA/outgoing/<SHA-256 of the business, first 32 digits>/<id>`; incomplete files are in
/// `DATA/outgoing/incoming`. Storing a message copies its files. A file is deleted a day after its upload, or
/// ten minutes after a message used it. Its modification time is the time of the upload; using the file sets
/// that time back. The files of saved replies do not expire: they are moved to `DATA/saved-files/<32 digits>/<id>`.
final class UploadedFiles: Sendable {
    /// The limits for each business.
    struct Limits: Sendable {
        /// The maximum number of files.
        var files = 1000
        /// The maximum bytes of the files together.
        var bytes = 2 << 30
        /// The maximum number of concurrent uploads, and the part of them that one token may have.
        var uploads = 8
        var uploadsPerToken = 4
    }

    /// The reason why an upload cannot begin.
    enum Refusal: Error, Equatable {
        /// The business has too many files, or files of too many bytes together.
        case full
        /// The business or the token has too many uploads at the moment.
        case busy
    }

    /// The uploads of a business at the moment.
    private struct InProgress {
        var count = 0
        var bytes = 0
        /// The bytes of the files in the folder, as of the last upload that began or finished.
        var usedBytes = 0
        /// The bytes of all uploads that finished while others were in progress.
        var finishedBytes = 0
    }

    private let directory: String
    private let saved: String
    private let limits: Limits
    private var incoming: String { directory + "/incoming" }
    /// The uploads in progress of each business, by the folder of its files.
    private let uploads = Mutex<[String: InProgress]>([:])
    /// Counts the uploads in progress of each business and token.
    private let tokens: InFlightOperations

    /// The time from an upload until its file is deleted.
    static let lifetimeSeconds = 86_400
    /// The time from the use of a file until it is deleted.
    static let usedLifetimeSeconds = 600

    /// Uses the data directory at this path; the first upload creates the folders.
    init(dataDirectory: String, limits: Limits = Limits()) {
        directory = dataDirectory + "/outgoing"
        saved = dataDirectory + "/saved-files"
        self.limits = limits
        tokens = InFlightOperations(maximum: limits.uploadsPerToken)
    }

    /// The current time, in seconds since 1970, with which the age of files is computed.
    private var now: Int { Int(SteadyClock.forExpiry().milliseconds / 1000) }

    private func folder(of business: BusinessID, in directory: String? = nil) -> String {
        "\(directory ?? self.directory)/\(Hex.encode(SHA256.hash(Array(business.rawValue.utf8))).prefix(32))"
    }

    /// Whether a text has the form of a file's identifier.
    static func isIdentifier(_ text: String) -> Bool {
        text.utf8.count == 32
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The path of a file of this business; nil when it has no such file.
    func path(of id: String, for business: BusinessID) -> String? {
        guard Self.isIdentifier(id) else { return nil }
        // An upload becomes a file of saved replies before its first name is removed, never the other way.
        return [folder(of: business), folder(of: business, in: saved)].map { $0 + "/" + id }
            .first(where: Directory.exists)
    }

    /// Makes a file that a message used expire in ten minutes.
    func markUsed(_ id: String, of business: BusinessID) {
        guard let path = path(of: id, for: business) else { return }
        // If the time cannot be set, the file is deleted a day after its upload.
        try? FileStatus.setModified(
            path, secondsSince1970: now - Self.lifetimeSeconds + Self.usedLifetimeSeconds)
    }

    /// Begins an upload of a token; throws a ``Refusal`` or a ``SystemError``.
    func begin(for business: BusinessID, token: String) throws -> Upload {
        let folder = folder(of: business)
        guard let permit = tokens.begin("\(folder)/\(token)") else { throw Refusal.busy }
        try uploads.withLock { uploads in
            guard uploads[folder]?.count ?? 0 < limits.uploads else { throw Refusal.busy }
            uploads[folder, default: InProgress()].count += 1
        }
        do {
            try sweep(folder)
            // Read these numbers before counting the files: an upload that finishes in between is then counted
            // twice, not missed.
            let (count, finishedBytes) = uploads.withLock {
                ($0[folder]?.count ?? 0, $0[folder]?.finishedBytes ?? 0)
            }
            let used = try usage(of: folder)
            let bytes = uploads.withLock { uploads in
                let usedBytes = used.bytes + (uploads[folder]?.finishedBytes ?? 0) - finishedBytes
                uploads[folder]?.usedBytes = usedBytes
                return usedBytes + (uploads[folder]?.bytes ?? 0)
            }
            // This upload is one of those in progress.
            guard used.files + count <= limits.files, bytes < limits.bytes else { throw Refusal.full }
            try Directory.make(incoming)
            return try Upload(
                temporary: "\(incoming)/\(Hex.encode(randomBytes(16)))", folder: folder, permit: permit,
                owner: self)
        } catch {
            end(folder, bytes: 0)
            throw error
        }
    }

    /// Counts the next bytes of an upload; throws ``Refusal/full`` above the limit of its business.
    fileprivate func count(_ bytes: Int, in folder: String) throws {
        try uploads.withLock { uploads in
            let current = uploads[folder] ?? InProgress()
            guard current.usedBytes + current.bytes + bytes <= limits.bytes else { throw Refusal.full }
            uploads[folder]?.bytes += bytes
        }
    }

    /// Moves the bytes of a finished upload from the uploads in progress to the finished files.
    fileprivate func countFinished(_ bytes: Int, in folder: String) {
        uploads.withLock { uploads in
            uploads[folder]?.usedBytes += bytes
            uploads[folder]?.finishedBytes += bytes
            uploads[folder]?.bytes -= bytes
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

    fileprivate func end(_ folder: String, bytes: Int) {
        uploads.withLock { uploads in
            uploads[folder]?.bytes -= bytes
            uploads[folder]?.count -= 1
            if uploads[folder]?.count == 0 { uploads[folder] = nil }
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
                guard try FileStatus.modifiedSecondsSince1970(path) + Self.lifetimeSeconds <= now else {
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

    /// Makes uploads files of saved replies, too, durably; throws ``Refusal/full`` or a ``SystemError``.
    ///
    /// They stay uploads until ``removeUploads(_:of:)``, and are not lost when the saved reply cannot be written.
    func save(_ ids: Set<String>, for business: BusinessID) throws {
        let folder = folder(of: business, in: saved)
        let new = ids.filter { !Directory.exists("\(folder)/\($0)") }
        if new.isEmpty { return }
        var used = try usage(of: folder)
        for id in new { used.bytes += try FileStatus.sizeBytes("\(self.folder(of: business))/\(id)") }
        guard used.files + new.count <= limits.files, used.bytes <= limits.bytes else { throw Refusal.full }
        if try Directory.make(folder) { try Directory.synchronize(saved) }
        for id in new { try Directory.link("\(self.folder(of: business))/\(id)", to: "\(folder)/\(id)") }
        try Directory.synchronize(folder)
    }

    /// Removes the uploads that are files of written saved replies; one that cannot be removed expires.
    func removeUploads(_ ids: Set<String>, of business: BusinessID) {
        for id in ids { try? Directory.remove("\(folder(of: business))/\(id)") }
    }

    /// Removes the files of saved replies that no saved reply of the business names.
    func removeSaved(except ids: Set<String>, of business: BusinessID) throws(SystemError) {
        let folder = folder(of: business, in: saved)
        guard Directory.exists(folder) else { return }
        for id in try Directory.names(in: folder) where !ids.contains(id) {
            try Directory.remove("\(folder)/\(id)")
        }
    }

    /// An upload in progress; its incomplete file is removed when the upload is abandoned.
    final class Upload: Sendable {
        private let file: File
        private let temporary: String
        private let folder: String
        private let permit: OperationPermit
        private let owner: UploadedFiles
        private let isFinished = OnceFlag()
        private let bytes = Atomic(0)

        fileprivate init(
            temporary: String, folder: String, permit: OperationPermit, owner: UploadedFiles
        ) throws(SystemError) {
            file = try File(temporary, for: .creating)
            self.temporary = temporary
            self.folder = folder
            self.permit = permit
            self.owner = owner
        }

        /// Writes the next bytes; throws ``Refusal/full`` when the business has too many, or a ``SystemError``.
        func append(_ bytes: [UInt8]) throws {
            try owner.count(bytes.count, in: folder)
            self.bytes.add(bytes.count, ordering: .relaxed)
            try file.append(bytes)
        }

        /// Makes the file durable; returns its identifier.
        func finish() throws(SystemError) -> String {
            try file.synchronize()
            if try Directory.make(folder) { try Directory.synchronize(Directory.parent(of: folder)) }
            let id = Hex.encode(randomBytes(16))
            try Directory.rename(temporary, to: "\(folder)/\(id)")
            _ = isFinished.claim()
            owner.countFinished(bytes.exchange(0, ordering: .relaxed), in: folder)
            try Directory.synchronize(folder)
            return id
        }

        deinit {
            // If the file cannot be removed, the next start of the server removes it.
            if isFinished.claim() { try? Directory.remove(temporary) }
            owner.end(folder, bytes: bytes.load(ordering: .relaxed))
        }
    }
}
