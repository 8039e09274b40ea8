import BalloonHTTP
import BalloonPOSIX

/// Answers one request of the business API, from any thread; further answers are ignored.
struct APIResponder: Sendable {
    let api: BusinessAPI
    let facts: APIFacts
    let responder: HTTPResponder
    /// Counts the operation; nil for one that does not wait for a thread.
    var permit: OperationPermit?

    /// Sends an answer, with the fields of every answer; a GET whose `If-None-Match` names its content gets 304.
    func respond(_ answer: APIAnswer) { responder.respond(api.finish(answer, facts)) }

    /// Ends the count of the operation, which no longer waits for the disk.
    func releasePermit() { permit?.release() }

    /// Sends a problem.
    func respond(_ problem: APIProblem) { responder.respond(api.refuse(problem, facts)) }

    /// Starts an answer whose body is written in pieces.
    ///
    /// With a length, exactly that many bytes must be written. An open-ended answer, such as an event stream, ends when
    /// a stop of the server begins; its operation opens an ``APIStream``, so that it ends with its token too.
    func stream(
        _ status: HTTPStatus = .ok, contentType: String, contentLength: Int? = nil, isOpenEnded: Bool = false,
        fields: [(name: String, value: String)] = []
    ) -> HTTPBodyWriter {
        // From here on the client decides how long the answer takes.
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
    /// The token's name; nil when the token is not known.
    var token: String?
    /// The slug of the business; nil when the path names none.
    var business: String?
    /// The fields of every answer to the request.
    var fields: [(name: String, value: String)] = []
    /// The value of `If-None-Match`.
    var ifNoneMatch: String?
}
