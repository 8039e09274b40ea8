import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import Logging
import MessageStore
import Synchronization

/// The business API under `/v1` on the admin listener: authenticates each request, calls its operation, and finishes the
/// answer.
final class BusinessAPI: Sendable {
    /// The tokens and businesses.
    let access: APIAccess
    private let cursors: APICursor
    private let numbers: RecordNumbers
    private let audit: AuditLog?
    private let logger: Logger
    private let references = Mutex(ReferenceSequence())
    /// The refused requests without a known token, by address; above a limit they are logged at `debug` only.
    private let logged = Mutex(FailedAttempts(now: .now))
    /// The refused requests that could not be read; above a limit they are logged at `debug` only.
    private let loggedUnread = Mutex(RequestQuota(now: .now))
    /// Runs the operations that compute or may wait for the disk.
    private let executors = TokenExecutors()
    /// Runs the uploads, which must not delay other operations: each writes up to 100 MiB to the disk.
    private let uploadExecutors = TokenExecutors()
    /// Counts the operations of each token that run or wait for a thread.
    private let inFlight = InFlightOperations(maximum: 128)
    /// Counts the downloads of each token; a download ends when its client has read all of it.
    let downloads = InFlightOperations(maximum: 64)
    /// Counts the bytes of each token's answers that its clients have not read; a token at the maximum gets 503.
    private let unread = InFlightOperations(maximum: 16 << 20)

    init(
        _ access: APIAccess, cursors: APICursor, numbers: RecordNumbers, audit: AuditLog? = nil,
        logger: Logger
    ) {
        self.audit = audit
        self.access = access
        self.cursors = cursors
        self.numbers = numbers
        self.logger = logger
    }

    /// Returns a route for each operation, and one for each path that answers a browser's CORS preflight
    /// requests.
    func routes(_ operations: [APIRoute]) -> [HTTPRoute] {
        var methods: [(path: String, methods: [HTTPMethod])] = []
        for operation in operations {
            let added = operation.method == .get ? [.get, .head] : [operation.method]
            if let index = methods.firstIndex(where: { $0.path == operation.path }) {
                methods[index].methods += added
            } else {
                methods.append((operation.path, added))
            }
        }
        return operations.map(route) + methods.map { preflight($0.path, $0.methods + [.options]) }
    }

    private func route(_ operation: APIRoute) -> HTTPRoute {
        HTTPRoute(
            operation.method, operation.path, body: operation.body.received,
            makeHandlers: { _ in
                HTTPRoute.Handlers(
                    admit: { head in
                        let (facts, problem) = self.examine(head, operation, counting: true)
                        return problem.map { .refused(self.refuse($0, facts)) } ?? .admitted(mark: 0)
                    },
                    handle: { request, responder in self.handle(request, operation, responder) })
            })
    }

    private func preflight(_ path: String, _ methods: [HTTPMethod]) -> HTTPRoute {
        HTTPRoute(.options, path) { request, _ in
            guard self.access.isServed else {
                let facts = APIFacts(method: .options, path: path, peer: request.peer)
                return self.refuse(HTTPRefusal.notFound.problem, facts)
            }
            let fields = self.access.preflightFields(to: request, methods: methods)
            return HTTPResponse(.noContent, fields: fields)
        }
    }

    private func examine(
        _ request: HTTPRequest, _ operation: APIRoute, counting: Bool
    ) -> (facts: APIFacts, problem: APIProblem?) {
        var facts = APIFacts(method: operation.method, path: operation.path, peer: request.peer)
        // A server without tokens has no API, so it answers as for a path without a route.
        guard access.isServed else { return (facts, HTTPRefusal.notFound.problem) }
        var problem: APIProblem?
        do throws(APIProblem) {
            try access.examine(request, for: operation, counting: counting, &facts)
        } catch {
            problem = error
        }
        facts.fields += [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]
        facts.ifNoneMatch = request.text(.ifNoneMatch)
        return (facts, problem)
    }

    private func handle(
        _ request: HTTPRequest, _ operation: APIRoute, _ responder: HTTPResponder
    ) -> HTTPResponse? {
        // Examined again, because a reload may have removed the token while the body arrived.
        let (facts, problem) = examine(request, operation, counting: false)
        if let problem { return refuse(problem, facts) }
        guard let token = facts.token else { return refuse(APIProblem(.unauthenticated), facts) }
        do throws(APIProblem) {
            // Before the operation, because the answer to a change that was made must not be refused.
            if unread.isFull(token.name) { throw Self.tooMuchUnread }
            try checkMediaType(request, operation)
            let request = try APIRequest(
                request, operation, token: token, business: facts.business, access: access,
                cursors: cursors, numbers: numbers)
            var responder = APIResponder(api: self, facts: facts, responder: responder)
            switch operation.handler {
            case .direct(let handler):
                return handler(request, responder).flatMap { begin($0, facts, responder.responder) }
            case .blocking(let answer):
                responder.permit = try inFlight.permit(for: token, to: "wait for the disk")
                start(answer, request, responder, on: executor(of: operation, for: token))
                return nil
            }
        } catch {
            return refuse(error, facts)
        }
    }

    /// Returns the token's threads for an operation that may wait; uploads have separate threads.
    func executor(of operation: APIRoute, for token: APIToken) -> BlockingTaskExecutor {
        switch operation.body {
        case .pulled: uploadExecutors[token.name]
        case .none, .json: executors[token.name]
        }
    }

    private func checkMediaType(_ request: HTTPRequest, _ operation: APIRoute) throws(APIProblem) {
        guard case .json = operation.body, !request.body.isEmpty, let type = request.text(.contentType) else {
            return
        }
        let name = type.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard name == "application/json" else {
            throw APIProblem(.unsupportedMediaType, "send application/json")
        }
    }

    private func start(
        _ answer: @escaping @Sendable (APIRequest, APIResponder) async throws -> APIAnswer?,
        _ request: APIRequest, _ responder: APIResponder, on executor: BlockingTaskExecutor
    ) {
        Task(executorPreference: executor) {
            defer { responder.releasePermit() }
            do {
                if let answer = try await answer(request, responder) { responder.respond(answer) }
            } catch {
                responder.respond(self.problem(error))
            }
        }
    }

    /// Returns the problem with which the API answers an error of an operation.
    private func problem(_ error: any Error) -> APIProblem {
        if let problem = error as? APIProblem { return problem }
        if let refusal = error as? HandlerRefusal { return APIProblem(.conflict, refusal.reason) }
        var problem = (error as? StoreError)?.problem ?? APIProblem(.internalError)
        problem.cause = (error as? StoreError)?.description ?? (error as? SystemError)?.description
        // The text of any other error may contain customer text, so only its type is logged.
        problem.cause = problem.cause ?? "\(type(of: error))"
        return problem
    }

    private static let tooMuchUnread = APIProblem(
        .unavailable, "the token's clients have not read its earlier answers", retryAfter: 5)

    /// Returns the response to send at once; nil when this call sends a long one in pieces.
    ///
    /// Answers that are not read would fill the memory that all clients of the listener share, so their bytes count
    /// for the token until the client has read them, and the connection gets a long answer only in pieces.
    func begin(_ answer: APIAnswer, _ facts: APIFacts, _ responder: HTTPResponder) -> HTTPResponse? {
        var response = finish(answer, facts)
        let bytes = response.body.count
        guard let token = facts.token?.name, bytes > HTTPLimits.freeBytesPerConnection else {
            return response
        }
        if facts.method != .get {
            response.retained = unread.add(token, weighing: bytes)
        } else if let permit = unread.begin(token, weighing: bytes) {
            response.retained = permit
        } else {
            return refuse(Self.tooMuchUnread, facts)
        }
        guard bytes > AttachmentAnswer.pieceBytes else { return response }
        Task { [response] in await write(response, to: responder) }
        return nil
    }

    /// Writes an answer in pieces, each as soon as the client has read enough of the ones before.
    private func write(_ response: HTTPResponse, to responder: HTTPResponder) async {
        let writer = responder.stream(HTTPStreamHead(of: response))
        var position = 0
        do {
            while position < response.body.count {
                let piece = Array(response.body[position...].prefix(AttachmentAnswer.pieceBytes))
                try await withDeadline(AttachmentAnswer.pieceTime, abort: responder.abort) {
                    try await writer.write(piece)
                }
                position += piece.count
            }
            writer.finish(retaining: response.retained)
        } catch {
            // The client has disconnected or reads too slowly, or the request was HEAD, whose answer has ended.
            responder.abort()
        }
    }

    /// Adds the header fields that all answers share; logs and audits the request unless it is a GET.
    func finish(_ answer: APIAnswer, _ facts: APIFacts) -> HTTPResponse {
        let answer = facts.method == .get ? answer.validated(against: facts.ifNoneMatch) : answer
        if facts.method != .get {
            log("API change", .info, facts, answer.status, reference: nil)
            record(facts, "\(answer.status.code)", answer.audit)
        }
        return HTTPResponse(
            answer.status, contentType: answer.contentType, body: answer.body,
            fields: facts.fields + answer.fields)
    }

    /// Returns the answer to a failed request, and logs the failure with the reference that the answer has.
    func refuse(_ problem: APIProblem, _ facts: APIFacts) -> HTTPResponse {
        let reference = references.withLock { $0.next() }.text
        let level: Logger.Level =
            switch problem.kind {
            case .internalError: .error
            // At a higher level, any client could fill the log with such requests.
            case .tooManyFailures, .tooManyRequests: .debug
            default: isLoggedOften(facts) ? .debug : .info
            }
        log("API request refused", level, facts, problem.status, reference: reference, problem)
        if facts.method != .get, facts.token != nil, problem.status != .tooManyRequests {
            record(facts, "\(problem.status.code)")
        }
        return HTTPResponse(
            problem.status, contentType: APIProblem.mediaType, body: problem.json(reference: reference),
            fields: facts.fields + problem.fields)
    }

    /// Records a change in the audit log, except operations that are not audited, such as a message that claims nothing.
    private func record(
        _ facts: APIFacts, _ result: String, _ complete: (@Sendable (inout AuditLog.Entry) -> Void)? = nil
    ) {
        guard let audit, let token = facts.token, facts.isAudited || complete != nil else { return }
        var entry = AuditLog.Entry(
            "\(facts.method.rawValue) \(facts.path)", by: .token(token.name, person: token.person?.id),
            result: result)
        entry.business = facts.business?.slug
        Task { [entry] in await audit.record(entry, completing: complete) }
    }

    /// Counts a refusal of a request without a known token; returns whether its address exceeds ten in this
    /// minute.
    private func isLoggedOften(_ facts: APIFacts) -> Bool {
        guard facts.token == nil, let peer = facts.peer else { return false }
        return logged.withLock { $0.count(peer, now: .now).isExceeded }
    }

    /// Returns the body of the answer to a request that the HTTP server refused while reading it, and logs the refusal.
    func describe(_ refusal: HTTPRefusal) -> HTTPContent {
        let reference = references.withLock { $0.next() }.text
        // Any client may send broken requests; its address is unknown here, so all clients share one limit.
        let isOften = loggedUnread.withLock { $0.count(limit: 60, now: .now).isExceeded }
        logger.log(
            level: isOften ? .debug : .info, "admin request refused",
            metadata: [
                "status": "\(refusal.status.code)", "reason": "\(refusal.reason)",
                "reference": "\(reference)",
            ])
        return HTTPContent(type: APIProblem.mediaType, bytes: refusal.problem.json(reference: reference))
    }

    private func log(
        _ message: Logger.Message, _ level: Logger.Level, _ facts: APIFacts, _ status: HTTPStatus,
        reference: String?, _ problem: APIProblem? = nil
    ) {
        guard logger.logLevel <= level else { return }
        // The operation's path has parameters in braces; the request's path would name a conversation.
        var metadata: Logger.Metadata = [
            "method": "\(facts.method.rawValue)", "path": "\(facts.path)", "status": "\(status.code)",
        ]
        metadata["token"] = facts.token.map { "\($0.name)" }
        metadata["business"] = facts.business.map { "\($0.slug)" }
        metadata["reference"] = reference.map { "\($0)" }
        metadata["problem"] = problem.map { "\($0.kind.rawValue)" }
        if let problem, problem.status.code >= 500 { metadata["cause"] = problem.cause.map { "\($0)" } }
        logger.log(level: level, message, metadata: metadata)
    }
}

extension StoreError {
    /// The problem that answers an operation that failed with this error; it names no path in the data
    /// directory.
    var problem: APIProblem {
        switch self {
        case .unknownRecord, .unknownReply: APIProblem(.notFound)
        case .notLeased, .alreadyDecided, .beingSent, .alreadyResolved, .notFinished, .notReplayable,
            .changed,
            .notDead, .replyNotDead, .notPending:
            APIProblem(.conflict, "\(self)")
        case .quarantinedConversation:
            APIProblem(.unavailable, "the conversation's file is damaged and quarantined")
        case .quarantined, .damaged: APIProblem(.unavailable, "a file of the store is damaged")
        case .unavailable, .notDurable: APIProblem(.unavailable, "the disk cannot be used")
        case .overloaded, .tooManyPending, .quotaReached, .tooManyRequests:
            APIProblem(.unavailable, "the store is overloaded")
        case .closed: APIProblem(.unavailable, "the server is stopping")
        case .backupRunning, .filesChanging: APIProblem(.unavailable, "\(self)")
        case .assignment(let refusal): refusal.problem
        case .inUse, .unknownVersion, .noData, .restoreUnfinished, .copyOfDatabase, .ledgerMissing,
            .otherLedger:
            APIProblem(.internalError)
        }
    }
}

extension AssignmentRefusal {
    /// The problem that answers a refused change of an assignment; `claimed` has a member `person`.
    var problem: APIProblem {
        switch self {
        case .closed: APIProblem(.closed)
        case .claimed(let person), .withPerson(let person?):
            APIProblem(.claimed).member("person", JSONForm.person.json(person))
        case .withPerson(nil): APIProblem(.conflict, "the conversation waits for a person")
        case .nothingToRelease:
            APIProblem(.conflict, "the conversation is with its handler, so there is nothing to release")
        case .changed: APIProblem(.changed)
        case .tooMany(let maximum):
            APIProblem(.unavailable, "the limit of \(maximum) claimed and waiting conversations is reached")
        }
    }
}
