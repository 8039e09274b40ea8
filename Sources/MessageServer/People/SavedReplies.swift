import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Dispatch
import Logging
import Synchronization

/// The saved replies that people wrote by the API, stored in the file `DATA/saved-replies.json`.
///
/// `{"format":1,"businesses":{"5a6b…":[{"id":"hours","title":"Opening hours","text":"…"}]}}`. Those of a business's
/// file are not in it. The files of saved replies are moved from the uploads, which expire.
final class SavedReplies: Sendable {
    private let file: BusinessesFile
    private let uploads: UploadedFiles
    private let queue = DispatchQueue(label: "balloon.saved-replies")
    /// The saved replies by business, sorted by id; nil when the file is unreadable, and then it is never replaced.
    private let state: Mutex<[BusinessID: [SavedReply]]?>

    /// The largest file that is read or written.
    private static let maximumBytes = 32 << 20
    /// The most bytes of one business in the file, so that none takes the place of the others.
    static let maximumBusinessBytes = 1 << 20
    /// The limits for reading the file, of which a change can reach only the length, and then it is refused.
    ///
    /// A message that a body may have is in a reply, a list, `businesses` and the root. No text has more values
    /// than bytes.
    private static let limits = JSONLimits(
        maximumDepth: APIRequest.bodyLimits.maximumDepth + 4, maximumBytes: maximumBytes,
        maximumNodes: maximumBytes)

    init(dataDirectory: String, uploads: UploadedFiles, logger: Logger) {
        self.uploads = uploads
        file = BusinessesFile(directory: dataDirectory, name: "saved-replies.json")
        state = Mutex(
            file.values(
                logger, consequence: "its saved replies are missing",
                hint: "correct the file, or remove it, and restart the server",
                limits: Self.limits
            ) { list -> [SavedReply]? in
                let replies = list.elements.compactMap { value in
                    value["id"]?.string.flatMap { SavedReply(id: $0, value) }
                }
                return replies.count == list.elements.count ? replies : nil
            })
    }

    /// The saved replies of a business.
    subscript(business: BusinessID) -> [SavedReply] { state.withLock { $0?[business] } ?? [] }

    /// The reason why a change is refused.
    enum Refusal: Error {
        /// The file is damaged, and would be lost.
        case unreadable
        /// The business has too many saved replies.
        case tooMany
        /// The saved replies of the business are too large together.
        case tooLarge
        /// The file has no place for more, of any business.
        case full
    }

    /// Stores or with nil removes a saved reply, durably before it returns; false when there was nothing to remove.
    func change(_ business: BusinessID, _ id: String, to reply: SavedReply?) async throws -> Bool {
        try await queue.run { [self] () throws in
            guard var all = state.withLock({ $0 }) else { throw Refusal.unreadable }
            let before = all[business] ?? []
            var replies = before.filter { $0.id != id }
            if reply == nil, replies.count == before.count { return false }
            if let reply { replies.append(reply) }
            guard replies.count <= SavedReply.maximumCount else { throw Refusal.tooMany }
            // The replies of an older version may be larger, and may still become smaller.
            let sizeBytes = Self.text([business: replies]).count
            guard sizeBytes <= max(Self.maximumBusinessBytes, Self.text([business: before]).count) else {
                throw Refusal.tooLarge
            }
            all[business] = replies.isEmpty ? nil : replies.sorted { $0.id < $1.id }
            let text = Self.text(all)
            guard text.count <= Self.maximumBytes else { throw Refusal.full }
            let files = Set(reply?.files.map(\.id) ?? [])
            try uploads.save(files, for: business)
            try file.write(text)
            state.withLock { [all] in $0 = all }
            uploads.removeUploads(files, of: business)
            // A file that cannot be removed is removed after the next change.
            try? uploads.removeSaved(except: Set(replies.flatMap(\.files).map(\.id)), of: business)
            return true
        }
    }

    private static func text(_ all: [BusinessID: [SavedReply]]) -> [UInt8] {
        BusinessesFile.text(all) { replies, business, writer in
            writer.objects(business, replies) { $0.write(to: &$1) }
        }
    }
}
