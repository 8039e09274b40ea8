import BalloonPOSIX
import Dispatch
import GatewayClient
import HandlerKit

/// The files of outbound texts: copied to the data directory when a reply is decided, uploaded when the reply
/// is sent.
///
/// Between these steps, an attachment is `{"name":"…","mimeType":"…","size":"…","file":"…"}`. Its `file` is
/// the SHA-256 of the content. Journal and conversation store this form.
struct ReplyFiles: Sendable {
    let gateway: GatewayClient
    let files: AttachmentFiles
    let configuration: CurrentConfiguration

    /// Copies the files that a business's message names by path, and returns the message with their hashes.
    ///
    /// Throws an ``UnreadableFile`` for a missing, unreadable or too large file.
    func keep(_ message: [UInt8], into hold: ContentHold) async throws -> [UInt8] {
        try await withAttachments(of: message) { index, attachment in
            guard let path = attachment["path"]?.string else { return nil }
            let stored = try await onDisk {
                do throws(SystemError) {
                    return try files.copy(
                        path, maximumBytes: configuration.attachments.maximumBytes, into: hold)
                } catch {
                    throw UnreadableFile(attachment: index, error: error)
                }
            }
            return JSONWriter.object([
                "name": attachment["name"]?.string, "mimeType": attachment["mimeType"]?.string,
                "size": "\(stored.sizeBytes)", "file": stored.sha256,
            ])
        }
    }

    /// Uploads the files that `message` names by hash, and returns the message in Apple's format.
    ///
    /// A message without such files is returned unchanged.
    func upload(_ message: [UInt8], for business: BusinessID) async throws -> [UInt8] {
        try await withAttachments(of: message) { _, attachment in
            guard let sha256 = Self.storedFile(attachment) else { return nil }
            guard let path = files.existing(sha256),
                let file = try await gateway.upload(file: path, named: sha256, for: business)
            else { throw ReplyRefused("not sent: one of its files is no longer kept") }
            return file.attachment(
                name: attachment["name"]?.string ?? "file",
                mimeType: attachment["mimeType"]?.string ?? "application/octet-stream"
            ).json
        }
    }

    /// Returns the hash of the stored file that an attachment names; nil for an attachment in Apple's format,
    /// with a `url`.
    static func storedFile(_ attachment: JSONValue) -> String? {
        attachment["url"] == nil ? attachment["file"]?.string : nil
    }

    /// Throws when a handler or a person wrote a message with an attachment that has the member `file`.
    ///
    /// Only ``keep(_:)`` may write this member. An author could write the hash of a file of any business, and
    /// ``upload(_:for:)`` would send that file.
    static func checkNoStoredFile(_ message: [UInt8]) throws(StoredFileNamed) {
        // The message was encoded by this server, so it is valid JSON.
        guard message.mayHaveMember("file"), message.mayHaveMember("attachments"),
            let root = (try? JSONDocument(message, limits: .stored))?.root,
            let index = root["attachments"]?.elements.map(\.self).firstIndex(where: { $0["file"] != nil })
        else { return }
        throw StoredFileNamed(attachment: index)
    }

    /// Replaces the attachments for which `change` returns a value.
    private func withAttachments(
        of message: [UInt8], _ change: (Int, JSONValue) async throws -> [UInt8]?
    ) async throws -> [UInt8] {
        // The message was encoded by this server, so it is valid JSON.
        guard message.mayHaveMember("attachments"),
            let root = (try? JSONDocument(message, limits: .stored))?.root,
            let attachments = root["attachments"]
        else { return message }
        var changed: [[UInt8]] = []
        var isChanged = false
        for (index, attachment) in attachments.elements.enumerated() {
            let new = try await change(index, attachment)
            isChanged = isChanged || new != nil
            changed.append(new ?? Array(attachment.text))
        }
        guard isChanged else { return message }
        let list = JSONWriter.value(reservingCapacity: 1024) { writer in
            writer.array { writer in for attachment in changed { writer.raw(attachment) } }
        }
        return root.replacing(members: ["attachments": list])
    }
}

extension [UInt8] {
    /// Whether this JSON text may have a member with this name, an ASCII word; false means that it certainly
    /// has none.
    ///
    /// The search costs less than parsing. JSON writes a name literally or with escapes, and only the escape
    /// `\u` can stand for a letter. A text with `\u` may therefore have the member.
    func mayHaveMember(_ name: String) -> Bool {
        self[...].firstPosition(of: Array("\"\(name)\"".utf8)) != nil
            || self[...].firstPosition(of: Array("\\u".utf8)) != nil
    }
}

/// The error when an author's message names a stored file by its hash, in the attachment at this index.
struct StoredFileNamed: Error, Equatable {
    let attachment: Int

    /// Returns the refusal of a handler's answer in which the message is at `pointer`.
    func refusal(at pointer: String) -> AnswerRefusal {
        AnswerRefusal([
            .init(
                rule: "attachmentFile", pointer: "\(pointer)/attachments/\(attachment)/file", found: "file",
                allowed: "no member file, which only the server writes", passage: CheckedAnswer.passage)
        ])
    }
}

/// Runs blocking disk work outside the cooperative pool.
func onDisk<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await DispatchQueue.global().run(work)
}
