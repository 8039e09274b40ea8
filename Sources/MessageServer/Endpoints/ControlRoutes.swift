import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import Logging
package import MessageStore

/// The routes on `DATA/control.sock` that change the data directory of a running server.
///
/// Each change is a job, whose identifier `job` the command chooses. While a job runs the answer is 202 with
/// `{"job":"…"}`, and `GET /jobs/ID` waits for its end. A failed job ends with 400 and `{"error":"…"}`, and has changed
/// nothing.
///
/// - `POST /replay` delivers finished messages again: `{"job":"…","messages":[{"record":12,"as":"failed"}]}`, with the
///   message's latest `replay`, if any. It ends with `{"replays":[{"record":12,"replay":57}]}`; `"repetition":true` marks
///   a replay that an earlier command made.
/// - `POST /drop` and `/events/drop` take `{"job":"…","records":[12,13]}` and end with `{"records":[13]}`, the messages
///   that were dropped before.
/// - Instead of their names, each of `/replay` and `/drop` takes a `select` (see ``MessageSelection``), and so do the two
///   next: `{"job":"…","select":{"deadLetters":true,"business":"…"}}`. `/drop` then ends with the messages that it
///   dropped. A failed job of this form may have changed some of the messages; its error says how many.
/// - `POST /replies/drop` and `/replies/retry` take a ``ReplyRequest`` and end with a ``ReplyAnswer``.
/// - `POST /reversals/drop` and `/reversals/retry` take a ``ReversalDecision`` and end with `{}`.
/// - `POST /conversations/claim`, `/conversations/release` and `/conversations/close` take an ``AssignmentRequest`` and end with
///   the assignment: `{"state":"person","since":"…","person":{"id":"ana"},…}`.
/// - `POST /erase` takes an ``ErasureRequest`` and ends with the report:
///   `{"conversations":2,"records":57,"contents":1,"unreached":[]}`.
/// - `POST /rebuild` ends with `{"restoredLines":2,"repairedConversations":1,"lostLines":0}`.
/// - `POST /trim` removes what `retention` of each business no longer keeps, and ends with
///   `{"rewritten":12,"removed":3,"lines":480,"deadLetters":1}`.
/// - `POST /repair` ends with the records that it removed; `GET /damage` lists them without removing them.
/// - `GET /statistics` answers with the numbers of `StoreStatistics`, and `GET /status` with a ``ServerStatus``.
/// - `GET /log-level` and `POST /log-level` are those of `LogLevelRoute`.
///
/// A service manager may pass a second control socket with the name `control`, so that operators need not be the server's user. The
/// sockets also serve `SendRoute`, `DeliveryRoute`, and `/livez` and `/readyz` for clients on this machine that do not
/// trust the public listener's certificate.
package enum ControlRoutes {
    /// The name of the socket in the data directory; only the directory's owner can reach it (mode 0600).
    package static let socketName = "control.sock"

    /// Returns the listeners of the control sockets, which serve operators on this machine.
    ///
    /// One socket is in the data directory, unless its path would be too long; the service manager may have
    /// passed another. Without them, commands can change the directory only while the server is stopped.
    static func listeners(
        _ directory: String, inherited: Int32?, _ store: Store,
        isServed: @escaping @Sendable (BusinessID) -> Bool,
        configureErasure: @escaping @Sendable (inout CustomerErasure.Settings) -> Void,
        decideReversals: @escaping @Sendable (ReversalDecision) async throws -> Void,
        forgetUploads: @escaping @Sendable () -> Void,
        trim: @escaping @Sendable () async throws -> TrimReport, audit: AuditLog,
        others: [HTTPRoute],
        describeRefusal: @escaping RefusalDescription, _ logger: Logger
    ) -> [HTTPListener] {
        let routes =
            (make(
                store: store, isServed: isServed, configureErasure: configureErasure,
                decideReversals: decideReversals, forgetUploads: forgetUploads, trim: trim, audit: audit,
                logger) + others)
            .map(\.forLocalCallers)
        let own = SocketAddress("unix:" + directory + "/" + socketName)
        if own == nil {
            logger.warning(
                "data directory path too long for a control socket; commands cannot reach this server")
        }
        var listeners: [HTTPListener] = []
        if let own { listeners.append(HTTPListener(own, routes: routes, describeRefusal: describeRefusal)) }
        if let inherited {
            // An inherited socket is already bound, so this address is not used to bind it.
            let address = SocketAddress.unix(path: socketName)
            listeners.append(
                HTTPListener(address, routes: routes, inherited: inherited, describeRefusal: describeRefusal))
        }
        return listeners
    }

    static func make(
        store: Store, jobs: ControlJobs = ControlJobs(),
        isServed: @escaping @Sendable (BusinessID) -> Bool,
        configureErasure: @escaping @Sendable (inout CustomerErasure.Settings) -> Void = { _ in },
        decideReversals: @escaping @Sendable (ReversalDecision) async throws -> Void = { _ in },
        forgetUploads: @escaping @Sendable () -> Void = {},
        trim: @escaping @Sendable () async throws -> TrimReport = { TrimReport() },
        audit: AuditLog? = nil, _ logger: Logger
    ) -> [HTTPRoute] {
        func route<Request: Sendable>(
            _ path: String, _ jobs: ControlJobs, read: @escaping @Sendable ([UInt8]) -> Request?,
            _ change: @escaping @Sendable (Request) async throws -> [UInt8]
        ) -> HTTPRoute {
            Self.route(path, jobs, audit, read: read) { request, conversations in
                conversations = (request as? any NamesConversations)?.conversations(in: store) ?? []
                return try await change(request)
            }
        }
        return [
            Self.route("/erase", jobs, audit, read: ErasureRequest.init) { request, conversations in
                do {
                    let report = try await store.erase(
                        request.customers, keepsPayments: request.keepsPayments, configure: configureErasure)
                    // The file of known uploads has hashes of contents, also of contents of the erased
                    // customers.
                    forgetUploads()
                    logger.notice(
                        "customers erased",
                        metadata: [
                            "customers": "\(request.customers.count)",
                            "conversations": "\(report.conversations)", "records": "\(report.records)",
                        ])
                    conversations = report.ledgerNames
                    return report.json
                } catch {
                    logger.error(
                        "erasure not completed; the next erasure or start of the server completes what has begun",
                        metadata: ["error": "\(error)"])
                    throw error
                }
            },
            route("/replay", jobs, read: ReplayRequest.init) { request in
                guard let selection = request.selection else {
                    return try await ReplayAnswer(store.replay(request.messages)).json
                }
                return try await ReplayAnswer(store.replay(where: selection.chooses)).json
            },
            route("/drop", jobs, read: DropRequest.init) { request in
                guard let selection = request.selection else {
                    return try await DropRequest(records: store.dropDead(request.records).sorted()).json
                }
                return try await DropRequest(records: store.dropDead(where: selection.chooses)).json
            },
            route("/events/drop", jobs, read: DropRequest.init) { request in
                let dropped = try await store.dropPending(
                    request.records, reason: Store.droppedByOperator, isServed: isServed)
                return DropRequest(records: dropped.sorted()).json
            },
            route("/replies/drop", jobs, read: ReplyRequest.init) { request in
                guard let selection = request.selection else {
                    let dropped = try await store.drop(request.replies, reason: ReplyRequest.operatorReason)
                    return ReplyAnswer(dropped: dropped.sorted(), before: true).json
                }
                let dropped = try await store.dropReplies(
                    where: selection.chooses, reason: ReplyRequest.operatorReason)
                return ReplyAnswer(dropped: dropped, before: false).json
            },
            route("/replies/retry", jobs, read: ReplyRequest.init) { request in
                guard let selection = request.selection else {
                    return try await ReplyAnswer(retried: store.retry(request.replies, as: request.edited))
                        .json
                }
                return try await ReplyAnswer(retried: store.retryReplies(where: selection.chooses)).json
            },
        ]
            + AssignmentRequest.Action.allCases.map { action in
                route("/conversations/" + action.rawValue, jobs, read: { AssignmentRequest(action, $0) }) {
                    request in
                    let assignment = try await store.assign(
                        request.change, request.business, request.customer)
                    return JSONWriter.object { assignment.write(to: &$0) }
                }
            }
            + ReversalDecision.Action.allCases.map { action in
                route("/reversals/" + action.rawValue, jobs, read: { ReversalDecision(action, json: $0) }) {
                    decision in
                    try await decideReversals(decision)
                    return Array("{}".utf8)
                }
            } + [
                route("/rebuild", jobs, read: { _ in () }) { _ in
                    do { return try await store.rebuild().json } catch {
                        logger.error("rebuild of conversations failed", metadata: ["error": "\(error)"])
                        throw error
                    }
                },
                route("/trim", jobs, read: { _ in () }) { _ in try await trim().json },
                route("/repair", jobs, read: { _ in () }) { _ in try await store.repairJournal().json },
                HTTPRoute(.get, "/damage") { _, _ in HTTPResponse(.ok, json: store.repairPreview.json) },
                HTTPRoute(.get, "/jobs/*") { request, responder in
                    let id = String(decoding: request.path.dropFirst("/jobs/".utf8.count), as: UTF8.self)
                    jobs.wait(for: id, responder)
                    return nil
                },
                HTTPRoute(.get, "/statistics") { _, _ in HTTPResponse(.ok, json: store.statistics.json) },
            ]
    }

    /// The maximum size of a request: the names in a command line of 2 MiB, the limit of Linux, take less.
    private static let maximumRequestBytes = 16 << 20

    /// `change` returns the answer, and sets the conversations that the audit log names.
    private static func route<Request: Sendable>(
        _ path: String, _ jobs: ControlJobs, _ audit: AuditLog?,
        read: @escaping @Sendable ([UInt8]) -> Request?,
        _ change: @escaping @Sendable (Request, inout [String]) async throws -> [UInt8]
    ) -> HTTPRoute {
        HTTPRoute(.post, path, body: .collected(maximumBytes: maximumRequestBytes)) { request, responder in
            let body = Array(request.body)
            guard let id = ControlJobs.id(in: body), let wanted = read(body) else {
                return HTTPResponse(.badRequest, text: "the body is not a request for \(path)\n")
            }
            let author = AuditLog.Author.user(request.peerUser)
            jobs.run(id, responder) {
                let answer: HTTPResponse
                let result: String
                var conversations: [String] = []
                do {
                    answer = HTTPResponse(.ok, json: try await change(wanted, &conversations))
                    result = "done"
                } catch {
                    answer = HTTPResponse(.badRequest, json: refusal(error))
                    result = "failed"
                }
                if let audit {
                    var entry = AuditLog.Entry("POST " + path, by: author, result: result)
                    entry.conversations = conversations
                    await audit.record(entry)
                }
                return answer
            }
            return nil
        }
    }

    private static func refusal(_ error: any Error) -> [UInt8] {
        JSONWriter.object { $0.field("error", "\(error)") }
    }

    /// Parses the answer of a rebuild; nil when it is not one.
    package static func rebuilt(in json: [UInt8]) -> Store.Rebuilt? { .init(json) }

    /// An identifier for a new job.
    package static func newJob() -> String { ControlJobs.newID() }

    /// Whether a text is a valid job identifier.
    package static func isJob(_ text: String) -> Bool { ControlJobs.isID(text) }
}

/// A request about conversations, which the audit log names by the hashes of the ledger of erasures.
protocol NamesConversations {
    /// The keyed hashes of the conversations; empty when the ledger cannot be read.
    func conversations(in store: Store) -> [String]
}

extension AssignmentRequest: NamesConversations {
    func conversations(in store: Store) -> [String] { store.ledgerNames(of: customer, business) }
}

/// The body of `POST /replay`, without the job.
package struct ReplayRequest: Sendable {
    /// The messages, each with the state that the operator saw; empty with a selection.
    package let messages: [NamedState]
    /// The selection of the messages, if they are not named.
    package let selection: MessageSelection?

    /// Creates a request for these messages.
    package init(messages: [NamedState]) { (self.messages, selection) = (messages, nil) }

    /// Creates a request for the selected messages.
    package init(_ selection: MessageSelection) { (messages, self.selection) = ([], selection) }

    /// Parses a body; nil when it is invalid.
    init?(_ json: [UInt8]) {
        // A body that is not JSON names no messages.
        guard let root = (try? JSONDocument(json))?.root else { return nil }
        selection = MessageSelection(in: root)
        if selection != nil {
            messages = []
            return
        }
        guard let values = root["messages"]?.elements else { return nil }
        let messages = values.compactMap(NamedState.init)
        guard messages.count == values.count else { return nil }
        self.messages = messages
    }

    /// The JSON of the request, with the identifier of its job.
    package func json(job: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("job", job)
            if let selection { return selection.write(to: &writer) }
            writer.key("messages")
            writer.array { writer in
                for message in messages {
                    writer.object { writer in
                        writer.field("record", Int(clamping: message.record))
                        writer.field("as", message.status.rawValue)
                        writer.field("replay", message.replay.map { Int(clamping: $0) })
                    }
                }
            }
        }
    }
}

extension NamedState {
    fileprivate init?(_ value: JSONValue) {
        guard let record = value["record"]?.int.flatMap(UInt64.init(exactly:)),
            let status = value["as"]?.string.flatMap(JournalEvent.Status.init)
        else { return nil }
        self.init(
            record: record, status: status, replay: value["replay"]?.int.flatMap(UInt64.init(exactly:)))
    }
}

/// The answer of `POST /replay`.
package struct ReplayAnswer: Sendable {
    /// The result for each message.
    package let results: [ReplayResult]

    init(_ results: [ReplayResult]) { self.results = results }

    /// Parses an answer; nil when it is invalid.
    package init?(_ json: [UInt8]) {
        guard let values = (try? JSONDocument(json))?.root["replays"]?.elements else { return nil }
        let results = values.compactMap { value -> ReplayResult? in
            guard let record = value["record"]?.int.flatMap(UInt64.init(exactly:)),
                let replay = value["replay"]?.int.flatMap(UInt64.init(exactly:))
            else { return nil }
            return ReplayResult(
                record: record, replay: replay, isRepetition: value["repetition"]?.bool ?? false)
        }
        guard results.count == values.count else { return nil }
        self.results = results
    }

    var json: [UInt8] {
        JSONWriter.object { writer in
            writer.key("replays")
            writer.array { writer in
                for result in results {
                    writer.object { writer in
                        writer.field("record", Int(clamping: result.record))
                        writer.field("replay", Int(clamping: result.replay))
                        if result.isRepetition { writer.field("repetition", true) }
                    }
                }
            }
        }
    }
}

/// The body of `POST /drop` without the job, and its answer.
package struct DropRequest: Sendable {
    /// The journal records of the messages to drop; empty with a selection.
    package let records: [UInt64]
    /// The selection of the messages, if they are not named.
    package let selection: MessageSelection?

    /// Creates a request for these records.
    package init(records: [UInt64]) { (self.records, selection) = (records, nil) }

    /// Creates a request for the selected messages.
    package init(_ selection: MessageSelection) { (records, self.selection) = ([], selection) }

    /// Parses a body; nil when it is invalid.
    package init?(_ json: [UInt8]) {
        // A body that is not JSON names no messages.
        guard let root = (try? JSONDocument(json))?.root else { return nil }
        selection = MessageSelection(in: root)
        if selection != nil {
            records = []
            return
        }
        guard let values = root["records"]?.elements else { return nil }
        let records = values.compactMap { $0.int.flatMap(UInt64.init(exactly:)) }
        guard records.count == values.count else { return nil }
        self.records = records
    }

    var json: [UInt8] { json(job: nil) }

    /// The JSON of the request, with the identifier of its job.
    package func json(job: String?) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("job", job)
            if let selection { return selection.write(to: &writer) }
            writer.key("records")
            writer.array { writer in for record in records { writer.raw(Array("\(record)".utf8)) } }
        }
    }
}
