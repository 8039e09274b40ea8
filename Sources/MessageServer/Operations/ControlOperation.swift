package import BalloonHTTP
import BalloonJSON
package import MessageStore

/// One operation on the control socket; the job of a running server, or of a command when no server runs, if it changes data.
package struct ControlOperation<Request: Sendable, Result: Sendable>: Sendable {
    /// The way in which a request is answered.
    enum Course {
        /// As a job, whose identifier `job` is in the body: 202 while it runs, 400 with `{"error":"…"}` after a failure.
        case job
        /// At the end of the operation: 503 with `{"error":"…"}` after a failure.
        case direct
    }

    /// The method on the control socket.
    package let method: HTTPMethod
    /// The path on the control socket.
    package let path: String
    /// The members of the request's body, beside `job`.
    package let request: JSONObjectForm<Request>
    /// The form of the answer.
    package let result: JSONForm<Result>
    /// Whether only a running server can perform it.
    package let needsServer: Bool
    /// The one implementation; a thrown ``ControlRefusal`` is the answer, and has changed nothing.
    package let perform: @Sendable (Request, OperationScope) async throws -> Result
    private let course: Course
    private let maximumBytes: Int
    private let audited: (@Sendable (Request, Result?, Store, inout AuditLog.Entry) -> Void)?

    /// Creates a change that is a job; `audit` completes the line of the audit log, with a nil result after a failure.
    ///
    /// It names conversations by their names in the ledger of erasures.
    init(
        _ path: String, _ request: JSONObjectForm<Request>, _ result: JSONForm<Result>,
        needsServer: Bool = false,
        audit: @escaping @Sendable (Request, Result?, Store, inout AuditLog.Entry) -> Void = { _, _, _, _ in
        },
        perform: @escaping @Sendable (Request, OperationScope) async throws -> Result
    ) {
        (method, course, self.needsServer) = (.post, .job, needsServer)
        // The names in a command line of 2 MiB, the limit of Linux, take less.
        maximumBytes = 16 << 20
        (self.path, self.request, self.result) = (path, request, result)
        audited = audit
        self.perform = perform
    }

    /// Creates an operation that reads the store.
    init(
        reading path: String, _ result: JSONForm<Result>, perform: @escaping @Sendable (Store) -> Result
    ) where Request == Nothing {
        (method, course, needsServer, maximumBytes, audited) = (.get, .direct, false, 0, nil)
        (self.path, request, self.result) = (path, .nothing, result)
        self.perform = { _, scope in perform(scope.store) }
    }

    /// Creates an operation of a running server; it is audited, with the business that `changing` returns, if there is `changing`.
    init(
        _ method: HTTPMethod, _ path: String, _ request: JSONObjectForm<Request>, _ result: JSONForm<Result>,
        maximumBytes: Int = 4096, changing: (@Sendable (Request) -> String?)? = nil,
        perform: @escaping @Sendable (Request, RunningOperations) async throws -> Result
    ) {
        (self.method, course, needsServer) = (method, .direct, true)
        self.maximumBytes = method == .get ? 0 : maximumBytes
        (self.path, self.request, self.result) = (path, request, result)
        if let changing {
            audited = { wanted, _, _, entry in entry.business = changing(wanted) }
        } else {
            audited = nil
        }
        self.perform = { request, scope in
            guard let running = scope.running else {
                throw ControlRefusal(.serviceUnavailable, "no server runs\n")
            }
            return try await perform(request, running)
        }
    }

    /// The body of a request for a job.
    package func body(_ wanted: Request, job: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("job", job)
            request.write(wanted, to: &writer)
        }
    }

    /// Reads an answer; nil when it has another form.
    package func answer(_ json: [UInt8]) -> Result? {
        // An answer that is not JSON has no form.
        (try? JSONDocument(json)).flatMap { result.read($0.root) }
    }

    /// The line of the audit log; nil for an operation that is not audited.
    ///
    /// `result` is nil when the operation failed.
    package func entry(
        by author: AuditLog.Author, _ wanted: Request, _ result: Result?, _ store: Store
    ) -> AuditLog.Entry? {
        guard let audited else { return nil }
        var entry = AuditLog.Entry(
            "\(method.rawValue) \(path)", by: author, result: result == nil ? "failed" : "done")
        audited(wanted, result, store, &entry)
        return entry
    }

    /// The route on the control socket.
    func route(_ scope: OperationScope, _ jobs: ControlJobs, _ audit: AuditLog?) -> HTTPRoute {
        HTTPRoute(method, path, body: .collected(maximumBytes: maximumBytes)) { request, responder in
            let body = Array(request.body)
            let id = course == .job ? ControlJobs.id(in: body) : ""
            guard let id, let wanted = self.request.value(body) else {
                return HTTPResponse(.badRequest, text: "the body is not a request for \(path)\n")
            }
            let author = AuditLog.Author.user(request.peerUser)
            let work = { @Sendable in await self.response(wanted, author, scope, audit) }
            switch course {
            case .job: jobs.run(id, responder, work)
            // Not on a shard: an operation may wait for the disk, or for a handler.
            case .direct: Task { @concurrent in responder.respond(await work()) }
            }
            return nil
        }
    }

    private func response(
        _ wanted: Request, _ author: AuditLog.Author, _ scope: OperationScope, _ audit: AuditLog?
    ) async -> HTTPResponse {
        var (result, answer): (Result?, HTTPResponse)
        do {
            let done = try await perform(wanted, scope)
            (result, answer) = (done, HTTPResponse(.ok, json: self.result.json(done)))
        } catch let refusal as ControlRefusal {
            return refusal.answer
        } catch {
            (result, answer) = (
                nil, ControlRefusal(course == .job ? .badRequest : .serviceUnavailable, error: error).answer
            )
        }
        if let entry = entry(by: author, wanted, result, scope.store) { await audit?.record(entry) }
        return answer
    }
}

/// The answer to a request on the control socket that is refused.
package struct ControlRefusal: Error {
    let answer: HTTPResponse

    /// A refusal in words, for a person.
    init(_ status: HTTPStatus, _ text: String) { answer = HTTPResponse(status, text: text) }

    /// A refusal as `{"error":"…"}`.
    init(_ status: HTTPStatus, error: Any) {
        answer = HTTPResponse(status, json: JSONWriter.object(["error": "\(error)"]))
    }
}
