import BalloonPOSIX
import GatewayClient
import HandlerKit
import Logging
import MessageStore

/// Downloads the attachments of a message before the message is delivered.
///
/// A message whose file cannot be downloaded is delivered without it; the conversation's line records the reason.
struct AttachmentFetcher: Sendable {
    let gateway: GatewayClient
    let files: AttachmentFiles
    let configuration: CurrentConfiguration
    let logger: Logger
    /// Limits the concurrent downloads of all businesses together and of each.
    let slots: FairSlots

    /// Returns the result of each attachment of a message, in order.
    ///
    /// Throws `CancellationError` when the server is stopping, and ``StoreError/unavailable(path:_:)`` when
    /// the disk is full, so that the file is not recorded as failed.
    func fetch(_ attachments: [Attachment], into hold: ContentHold) async throws -> [RecordedFile] {
        let end = ContinuousClock.now + configuration.attachments.deadline
        return try await withThrowingTaskGroup { group in
            for (index, attachment) in attachments.enumerated() {
                group.addTask { (index, try await fetch(attachment, into: hold, until: end)) }
            }
            var found: [Int: RecordedFile] = [:]
            for try await (index, file) in group { found[index] = file }
            return attachments.indices.compactMap { found[$0] }
        }
    }

    private func fetch(
        _ attachment: Attachment, into hold: ContentHold, until end: ContinuousClock.Instant
    ) async throws -> RecordedFile {
        let business = hold.business
        do throws(GatewayError) {
            let reference = try StoredReference(attachment)
            let file = try await keepAsking(until: end) { _ async throws(GatewayError) in
                // No slot is held during the wait for another attempt.
                guard await slots.acquire(for: business) else { throw .cancelled }
                defer { slots.release(business) }
                return try await gateway.download(
                    reference, for: business, into: hold, within: end - .now)
            }
            if !file.hasExpectedChecksum {
                logger.warning(
                    "an attachment's checksum differs from the one in its message; it is kept",
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
    /// Converts recorded files to the form that handlers receive.
    func handlersView(of files: [RecordedFile]) -> [AttachmentFile] {
        files.map { file in
            switch file {
            case .stored(let sha256, let sizeBytes):
                existing(sha256).map { .stored(path: $0, sizeBytes: sizeBytes, sha256: sha256) }
                    ?? .missing(reason: "the file is no longer kept")
            case .failed(let reason): .missing(reason: reason)
            }
        }
    }
}
