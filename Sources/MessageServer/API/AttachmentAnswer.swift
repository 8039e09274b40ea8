import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import GatewayClient
package import MessageStore

/// The content of a stored attachment as an answer, whole or one range of it.
///
/// Customers choose the content, its name and its type. The answer therefore tells browsers to save the file
/// without guessing a type. The file's path is made only from the hash in the conversation's line.
struct AttachmentAnswer {
    private let file: File
    private let sha256: String
    private let sizeBytes: Int
    private let name: String
    private let mediaType: String

    static let pieceBytes = 64 << 10
    /// The time in which the client must receive one piece of 64 KiB: at least 1,092 bytes a second.
    static let pieceTime = Duration.seconds(60)

    /// Opens an attachment; throws `not-found` when it was not downloaded, or is no longer kept.
    init(
        _ recorded: RecordedFile, of message: ConversationFiles.FoundMessage, _ index: Int,
        in files: AttachmentFiles
    ) throws {
        switch recorded {
        case .failed(let reason): throw APIProblem(.notFound, "the file was not downloaded: \(reason)")
        case .stored(let sha256, _):
            guard let path = files.existing(sha256) else {
                throw APIProblem(.notFound, "the file is no longer kept")
            }
            self.sha256 = sha256
            do throws(SystemError) {
                file = try File(path, for: .reading)
                sizeBytes = try file.sizeBytes()
            } catch {
                guard error.isMissing else { throw StoreError.unavailable(path: path, error) }
                throw APIProblem(.notFound, "the file is no longer kept")
            }
            let attachments = Self.attachments(of: message.line)
            let attachment = attachments.indices.contains(index) ? attachments[index] : nil
            name = attachment?.name ?? "attachment-\(index)"
            mediaType = Self.mediaType(attachment?.mimeType)
        }
    }

    /// Sends the whole content, the range that the request names, or 304.
    func send(to request: APIRequest, _ responder: APIResponder) async throws {
        let tag = "\"\(sha256)\""
        var fields = [
            (name: "ETag", value: tag), ("Accept-Ranges", "bytes"),
            ("Content-Disposition", Self.disposition(name)),
        ]
        if EntityTag.isMatch(tag, request.field("if-none-match")) {
            return responder.respond(
                APIAnswer(status: .notModified, contentType: mediaType, body: [], fields: fields))
        }
        // RFC 9110 §13.1.5: when If-Range names other content, send the whole: a range would not fit the
        // client's parts.
        let isSame = request.field("if-range").map { $0 == tag } ?? true
        switch ByteRange(isSame ? request.field("range") : nil, sizeBytes: sizeBytes) {
        case .unsatisfiable:
            throw APIProblem(.rangeNotSatisfiable, "the content has \(sizeBytes) bytes")
                .field("Content-Range", "bytes */\(sizeBytes)")
        case .whole: try await write(0..<sizeBytes, .ok, fields, request, responder)
        case .part(let range):
            let text = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(sizeBytes)"
            fields.append(("Content-Range", text))
            try await write(range, .partialContent, fields, request, responder)
        }
    }

    private func write(
        _ range: Range<Int>, _ status: HTTPStatus, _ fields: [(name: String, value: String)],
        _ request: APIRequest, _ responder: APIResponder
    ) async throws {
        guard let download = responder.api.downloads.begin(request.token.name) else {
            throw APIProblem(.unavailable, "the token has too many downloads", retryAfter: 5)
        }
        defer { download.release() }
        let writer = responder.stream(
            status, contentType: mediaType, contentLength: range.count, fields: fields)
        var position = range.lowerBound
        do {
            while position < range.upperBound {
                let piece = try file.read(
                    at: position, count: min(Self.pieceBytes, range.upperBound - position))
                // Content-Length was already sent, so close the connection when the file is shorter than
                // that.
                guard !piece.isEmpty else { return responder.abort() }
                // Waits until the client has read enough for the next piece.
                try await withDeadline(Self.pieceTime, abort: responder.abort) {
                    try await writer.write(piece)
                }
                position += piece.count
            }
            writer.finish()
        } catch {
            // The client has disconnected, or the disk failed in the middle of the content.
            responder.abort()
        }
    }

    /// Returns the attachments that the message describes, in the same order as its recorded files.
    private static func attachments(of line: ConversationLine) -> [Attachment] {
        // The message is a value of a parsed JSON document, so parsing it cannot fail.
        guard let document = try? JSONDocument(Array(line.message.text)) else { return [] }
        return InboundEvent.decode(message: document).attachments
    }

    /// The media type that the device claimed, or `application/octet-stream` when the claim is missing or malformed.
    static func mediaType(_ claimed: String?) -> String {
        guard let claimed, isMediaType(claimed) else { return "application/octet-stream" }
        return claimed
    }

    /// Whether a text has the form of a media type without parameters.
    static func isMediaType(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return text.utf8.count <= 100 && parts.count == 2
            && parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy(isTypeByte) }
    }

    private static func isTypeByte(_ byte: UInt8) -> Bool {
        isSlugByte(byte) || (0x41...0x5A).contains(byte) || ".+_".utf8.contains(byte)
    }

    /// The value of `Content-Disposition`: `attachment` with the name in ASCII for old clients, and in UTF-8 (RFC 6266
    /// §4.3).
    static func disposition(_ name: String) -> String {
        let plain = String(
            decoding: name.utf8.prefix(120).map { byte -> UInt8 in
                let isPlain = (0x20...0x7E).contains(byte) && !"\"\\/%".utf8.contains(byte)
                return isPlain ? byte : UInt8(ascii: "_")
            }, as: UTF8.self)
        return
            "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(name.cut(toBytes: 120).percentEncoded)"
    }
}

extension ConversationFiles.FoundMessage {
    /// The files of the message's attachments, in their order.
    ///
    /// The server downloaded those of an inbound message, and uploaded those of an outbound message.
    package var attachedFiles: [RecordedFile] {
        guard line.direction == .outbound else { return files }
        return (line.message["attachments"]?.elements.map(\.self) ?? []).map { attachment in
            guard let sha256 = ReplyFiles.storedFile(attachment) else {
                return .failed(reason: "its author uploaded it to Apple")
            }
            return .stored(
                sha256: sha256, sizeBytes: attachment["size"]?.string.flatMap { Int($0) } ?? 0)
        }
    }
}

/// Runs `work`; when it takes longer than `limit`, calls `abort`, which must make `work` end.
func withDeadline(
    _ limit: Duration, abort: @escaping @Sendable () -> Void, _ work: () async throws -> Void
) async throws {
    let timer = Task {
        // The timer is cancelled when the work ends.
        try await Task.sleep(for: limit)
        abort()
    }
    defer { timer.cancel() }
    try await work()
}
