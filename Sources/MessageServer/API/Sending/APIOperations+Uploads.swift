import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import BusinessMessages
import MessageStore

/// `POST …/attachments`: uploads a file, which later messages can name as an attachment.
///
/// The content is written to the disk while it arrives, and is durable before the answer.
extension APIOperations {
    static let uploads = business + "/attachments"
    static let contentDigest = APIParameter(
        "Content-Digest", .field,
        "The SHA-256 of the content, as in RFC 9530; the upload fails when it differs.")

    var upload: APIRoute {
        APIRoute(
            method: .post, path: Self.uploads, right: .send, headers: [Self.contentDigest],
            body: .pulled(maximumBytes: maximumUploadBytes, .bytes.named("Bytes")),
            summary: "Upload an attachment", answer: .json(.upload, creates: true),
            handler: .blocking(receive))
    }

    private func receive(_ request: APIRequest, _ responder: APIResponder) async throws -> APIAnswer? {
        guard let reader = request.bodyReader else { throw APIProblem(.internalError) }
        let wanted = try ContentDigest.sha256(request.list("content-digest"))
        let upload = try Self.onDisk {
            try uploads.begin(for: request.business.id, token: request.token.name)
        }
        // The client decides how long the upload takes, so stop counting it as in flight.
        responder.releasePermit()
        var hash = SHA256()
        var sizeBytes = 0
        do {
            while let piece = try await reader.next() {
                sizeBytes += piece.count
                guard sizeBytes <= maximumUploadBytes() else { throw APIProblem(.tooLarge) }
                if wanted != nil { hash.update(piece.span) }
                try Self.onDisk { try upload.append(piece) }
            }
        } catch is HTTPStreamError {
            // The client has disconnected, or was told that the content is too large.
            return nil
        }
        guard sizeBytes > 0 else { throw APIProblem(.badRequest, "the content is empty") }
        if let wanted, hash.digest != wanted { throw APIProblem(.digestMismatch) }
        let id = try Self.onDisk { try upload.finish() }
        return APIAnswer(.created) { $0.fields(["id": id, "size": sizeBytes]) }
    }

    private static func onDisk<Result>(_ work: () throws -> Result) throws -> Result {
        do { return try work() } catch let refusal as UploadedFiles.Refusal {
            let (detail, seconds) =
                switch refusal {
                case .busy: ("the business or the token has too many uploads at the moment", 5)
                case .full: ("the business has too many uploaded attachments that no message uses", 600)
                }
            throw APIProblem(.unavailable, detail, retryAfter: seconds)
        } catch let error as SystemError {
            throw StoreError.unavailable(path: uploads, error)
        }
    }
}
