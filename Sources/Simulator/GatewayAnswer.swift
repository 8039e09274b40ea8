import BalloonHTTP
import BalloonPOSIX

/// The gateway's answer to one request: a complete response, or stored content.
enum GatewayAnswer: Sendable {
    case whole(HTTPResponse)
    case content(StoredContent)

    private static let pieceBytes = 64 << 10

    /// Applies the misbehaviour to the answer, and returns the response that the caller sends at once.
    ///
    /// Returns nil when a job sends the answer later, or when the client gets no answer. `willAnswer` is
    /// called before the first byte of the answer, or as soon as it is known that the client gets no answer.
    func send(
        to responder: HTTPResponder, _ misbehaviour: Misbehaviour?,
        _ jobs: AsyncStream<GatewayJob>.Continuation, willAnswer: @escaping @Sendable () -> Void = {}
    ) -> HTTPResponse? {
        if case .delay = misbehaviour {} else { willAnswer() }
        switch misbehaviour {
        case .silence: return nil
        case .drop:
            responder.abort()
            return nil
        case nil, .answer, .body:
            if case .whole(let response) = self { return response }
            jobs.yield { await write(to: responder, rate: nil) }
        case .delay(let delay):
            jobs.yield {
                // The sleep ends early when the gateway stops; the answer is then sent at once.
                try? await Task.sleep(for: delay)
                willAnswer()
                await write(to: responder, rate: nil)
            }
        case .trickle(let rate): jobs.yield { await write(to: responder, rate: rate) }
        case .truncate(let bytes): jobs.yield { await cut(after: bytes, responder) }
        case .endless: jobs.yield { await writeForEver(to: responder) }
        case .resize(let difference):
            return changed { bytes in
                difference < 0
                    ? Array(bytes.dropLast(-difference)) : bytes + [UInt8](repeating: 0, count: difference)
            }
        case .garble: return changed { $0.map { ~$0 } }
        }
        return nil
    }

    private var kept: StoredContent {
        switch self {
        case .whole(let response): StoredContent(response.body)
        case .content(let content): content
        }
    }

    private func changed(_ change: ([UInt8]) -> [UInt8]) -> HTTPResponse {
        // Unreadable stored content is treated as empty.
        HTTPResponse(.ok, contentType: "application/octet-stream", body: change((try? kept.readAll()) ?? []))
    }

    private func write(to responder: HTTPResponder, rate: Int?) async {
        if rate == nil, case .whole(let response) = self { return responder.respond(response) }
        let content = kept
        let writer = responder.stream(head(content))
        // With a rate, send ten pieces per second.
        let pieceBytes = rate.map { max(1, $0 / 10) } ?? Self.pieceBytes
        var position = 0
        while position < content.sizeBytes {
            guard let piece = try? content.read(at: position, count: pieceBytes), !piece.isEmpty,
                // Writing fails when the client disconnected or the gateway is stopping.
                (try? await writer.write(piece)) != nil
            else { return responder.abort() }
            position += piece.count
            if rate != nil, (try? await Task.sleep(for: .milliseconds(100))) == nil {
                return responder.abort()
            }
        }
        writer.finish()
    }

    private func cut(after bytes: Int, _ responder: HTTPResponder) async {
        let content = kept
        let writer = responder.stream(head(content))
        // Errors are ignored: the connection is aborted in any case.
        if let piece = try? content.read(at: 0, count: min(bytes, content.sizeBytes)) {
            try? await writer.write(piece)
        }
        responder.abort()
    }

    private func writeForEver(to responder: HTTPResponder) async {
        let writer = responder.stream(HTTPStreamHead(.ok, contentType: "application/octet-stream"))
        let piece = [UInt8](repeating: 0, count: 16 << 10)
        while !Task.isCancelled, (try? await writer.write(piece)) != nil {}
        responder.abort()
    }

    private func head(_ content: StoredContent) -> HTTPStreamHead {
        HTTPStreamHead(.ok, contentType: "application/octet-stream", contentLength: content.sizeBytes)
    }
}
