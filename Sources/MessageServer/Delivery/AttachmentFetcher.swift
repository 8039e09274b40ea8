import BalloonPOSIX
import BusinessMessages
import GatewayClient
import HandlerKit
import Logging
import MessageStore

/// Fetches the files that come with messages, before they are recorded.
///
/// A file that cannot be had holds nothing up: the message goes on, and its line says why.
struct AttachmentFetcher: Sendable {
    let gateway: GatewayClient
    let files: AttachmentFiles
    let logger: Logger
    /// How long all files of one message may take.
    var deadline = AttachmentSettings().deadline
    /// Bounds how many files are fetched at once, of all businesses together and of each.
    let slots: FairSlots

    /// What became of each attachment of a message, in their order.
    ///
    /// Throws `CancellationError` when the server is on its way out, and ``StoreError/unavailable(path:_:)`` when the disk
    /// has no room, so that nothing is recorded as failed for it.
    func fetch(_ attachments: [Attachment], for business: BusinessID) async throws -> [RecordedFile] {
        let end = ContinuousClock.now + deadline
        return try await withThrowingTaskGroup { group in
            for (index, attachment) in attachments.enumerated() {
                group.addTask { (index, try await fetch(attachment, for: business, until: end)) }
            }
            var found: [Int: RecordedFile] = [:]
            for try await (index, file) in group { found[index] = file }
            return attachments.indices.compactMap { found[$0] }
        }
    }

    private func fetch(
        _ attachment: Attachment, for business: BusinessID, until end: ContinuousClock.Instant
    ) async throws -> RecordedFile {
        do throws(GatewayError) {
            let reference = try StoredReference(attachment)
            let file = try await keepAsking(until: end) { _ async throws(GatewayError) in
                // Not while it waits for another attempt.
                guard await slots.acquire(for: business) else { throw .cancelled }
                defer { slots.release(business) }
                return try await gateway.download(
                    reference, for: business, into: files, within: end - .now)
            }
            if !file.hasExpectedChecksum {
                logger.warning(
                    "an attachment has another checksum than its message says",
                    metadata: ["business": "\(business.rawValue)", "bytes": "\(file.sizeBytes)"])
            }
            return .stored(sha256: file.sha256, sizeBytes: file.sizeBytes)
        } catch {
            try Task.checkCancellation()
            if case .notKept(let error) = error, error.isDiskWide {
                throw StoreError.unavailable(path: AttachmentFiles.folder, error)
            }
            return .failed(reason: "\(error)")
        }
    }
}

extension AttachmentFiles {
    /// The files as a handler finds them.
    func handlersView(of files: [RecordedFile]) -> [AttachmentFile] {
        files.map { file in
            switch file {
            case .stored(let sha256, let sizeBytes):
                existing(sha256).map { .stored(path: $0, sizeBytes: sizeBytes, sha256: sha256) }
                    ?? .missing(reason: "it is no longer kept")
            case .failed(let reason): .missing(reason: reason)
            }
        }
    }
}
