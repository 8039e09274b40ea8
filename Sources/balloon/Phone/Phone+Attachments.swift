import BalloonHTTP
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageServer
import MessageStore

extension Phone {
    private static let pieceBytes = 64 << 10

    /// Returns the content of an attachment of either direction.
    ///
    /// The route is `GET …/messages/{message}/attachments/{n}`.
    ///
    /// Customers choose the content: a browser saves it as a file and does not guess its type.
    func attachment(_ request: InspectorRequest) throws -> InspectorRoute.Answer {
        let (customer, _) = try customer(request.path("id"))
        guard let found = try message(request.path("message"), of: customer.id, customer.business) else {
            throw InspectorProblem(.notFound, "the thread has no message with this id")
        }
        let files = found.attachedFiles
        guard let number = Int(request.path("n")), files.indices.contains(number) else {
            throw InspectorProblem(.notFound, "the message has no attachment of this number")
        }
        guard case .stored(let sha256, _) = files[number], let path = attachments.existing(sha256) else {
            throw InspectorProblem(.notFound, "the file is not on this machine")
        }
        let file = try File(path, for: .readingGiven)
        let sizeBytes = try file.sizeBytes()
        let head = HTTPStreamHead(
            .ok, contentType: "application/octet-stream", contentLength: sizeBytes,
            fields: [("Content-Disposition", "attachment"), ("X-Content-Type-Options", "nosniff")])
        return .stream(head) { writer in
            var position = 0
            while position < sizeBytes {
                let piece = try file.read(at: position, count: min(Self.pieceBytes, sizeBytes - position))
                // The length was sent already, so the connection ends when the file is shorter.
                guard !piece.isEmpty else { throw SystemError("read", code: 5) }
                try await writer.write(piece)
                position += piece.count
            }
        }
    }
}
