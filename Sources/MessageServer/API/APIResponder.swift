import BalloonHTTP
import BalloonPOSIX

/// Answers one request of the business API, from any thread; answers after the first are ignored.
struct APIResponder: Sendable {
    let api: BusinessAPI
    let facts: APIFacts
    let responder: HTTPResponder
    /// The permit that counts the operation as in flight until it is released; nil for an operation on the
    /// shard.
    var permit: OperationPermit?

    /// Sends an answer with the header fields that all answers share; a GET whose `If-None-Match` names the content
    /// gets 304.
    func respond(_ answer: APIAnswer) {
        if let response = api.begin(answer, facts, responder) { responder.respond(response) }
    }

    /// Stops counting the operation as in flight; called before the operation waits for anything other than
    /// the disk.
    func releasePermit() { permit?.release() }

    /// Sends a problem.
    func respond(_ problem: APIProblem) { responder.respond(api.refuse(problem, facts)) }

    /// Starts an answer whose body is written in pieces.
    ///
    /// With `contentLength`, the caller must write exactly that many bytes. An open-ended answer, such as an
    /// event stream, ends when the server begins to stop; ``EventHub/endRemoved()`` also ends it when its token
    /// is removed.
    func stream(
        _ status: HTTPStatus = .ok, contentType: String, contentLength: Int? = nil, isOpenEnded: Bool = false,
        fields: [(name: String, value: String)] = []
    ) -> HTTPBodyWriter {
        // The client decides how long a streamed answer takes, so stop counting the operation as in flight.
        releasePermit()
        return responder.stream(
            HTTPStreamHead(
                status, contentType: contentType, contentLength: contentLength, isOpenEnded: isOpenEnded,
                fields: facts.fields + fields))
    }

    /// Closes the connection without an answer, or in the middle of a streamed one.
    func abort() { responder.abort() }
}

/// The facts of a request that its answer and its log line need.
struct APIFacts: Sendable {
    let method: HTTPMethod
    /// The path of the operation, with its parameters in braces.
    let path: String
    /// The address of the client.
    var peer: PeerAddress?
    /// The request's token; nil when it has no valid one.
    var token: APIToken?
    /// The business that the path names; nil when the path names none, or when the request is refused.
    var business: APIBusiness?
    /// The header fields that every answer to the request gets.
    var fields: [(name: String, value: String)] = []
    /// The value of `If-None-Match`.
    var ifNoneMatch: String?

    /// Whether the audit log records the operation; it records every change except sending, typing and
    /// uploading.
    var isAudited: Bool {
        !["/messages", "/typing", "/attachments", "/uploads"].contains { path.hasSuffix($0) }
    }
}
