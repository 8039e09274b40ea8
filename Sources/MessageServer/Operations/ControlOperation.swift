import BalloonHTTP
import BalloonJSON
import BusinessMessages
package import Logging
package import MessageStore

/// One change of a data directory: a job of the running server on its control socket, and of a command when no server runs.
package struct ControlOperation<Request: Sendable, Result: Sendable>: Sendable {
    /// The path on the control socket.
    package let path: String
    /// The members of the request's body, beside `job`.
    package let request: JSONObjectForm<Request>
    /// The form of the answer.
    package let result: JSONForm<Result>
    /// Whether only a running server can perform it.
    package let needsServer: Bool
    /// The one implementation.
    package let perform: @Sendable (Request, OperationScope) async throws -> Result
    private let named: @Sendable (Request, Result?, Store) -> [String]

    /// Creates an operation; `named` returns the conversations for the audit log, by their names in the ledger of erasures,
    /// with a nil result after a failure.
    init(
        _ path: String, _ request: JSONObjectForm<Request>, _ result: JSONForm<Result>,
        needsServer: Bool = false,
        named: @escaping @Sendable (Request, Result?, Store) -> [String] = { _, _, _ in [] },
        perform: @escaping @Sendable (Request, OperationScope) async throws -> Result
    ) {
        self.path = path
        self.request = request
        self.result = result
        self.needsServer = needsServer
        self.named = named
        self.perform = perform
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

    /// The line of the audit log; `result` is nil when the operation failed.
    package func entry(
        by author: AuditLog.Author, _ wanted: Request, _ result: Result?, _ store: Store
    ) -> AuditLog.Entry {
        var entry = AuditLog.Entry("POST " + path, by: author, result: result == nil ? "failed" : "done")
        entry.conversations = named(wanted, result, store)
        return entry
    }

    /// The route on the control socket.
    ///
    /// The answer is the result, 202 while the job runs, or 400 with `{"error":"…"}` after a failure.
    func route(_ scope: OperationScope, _ jobs: ControlJobs, _ audit: AuditLog?) -> HTTPRoute {
        // The names in a command line of 2 MiB, the limit of Linux, take less.
        HTTPRoute(.post, path, body: .collected(maximumBytes: 16 << 20)) { request, responder in
            let body = Array(request.body)
            guard let id = ControlJobs.id(in: body), let wanted = self.request.value(body) else {
                return HTTPResponse(.badRequest, text: "the body is not a request for \(path)\n")
            }
            let author = AuditLog.Author.user(request.peerUser)
            jobs.run(id, responder) {
                var (result, answer): (Result?, HTTPResponse)
                do {
                    let done = try await perform(wanted, scope)
                    var writer = JSONWriter(reservingCapacity: 256)
                    self.result.write(done, &writer)
                    (result, answer) = (done, HTTPResponse(.ok, json: writer.finish()))
                } catch {
                    let refusal = JSONWriter.object { $0.field("error", "\(error)") }
                    (result, answer) = (nil, HTTPResponse(.badRequest, json: refusal))
                }
                await audit?.record(entry(by: author, wanted, result, scope.store))
                return answer
            }
            return nil
        }
    }
}

/// The store on which operations work, and the effects that only a running server has.
package struct OperationScope: Sendable {
    /// The open store.
    package let store: Store
    let logger: Logger
    var isServed: @Sendable (BusinessID) -> Bool = { _ in true }
    var configureErasure: @Sendable (inout CustomerErasure.Settings) -> Void = { _ in }
    var forgetUploads: @Sendable () -> Void = {}
    var decideReversals: @Sendable (ReversalDecision) async throws -> Void = { _ in }
    var trim: @Sendable () async throws -> TrimReport = { TrimReport() }

    init(_ store: Store, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Creates the scope of a process that has the lock of a data directory.
    package init(alone store: Store, dataDirectory: String, logger: Logger) {
        // The command reports failures, so nothing is logged.
        self.init(store, logger: Logger(label: "balloon") { _ in SwiftLogNoOpLogHandler() })
        decideReversals = { try await $0.apply(to: store, dataDirectory: dataDirectory, logger: logger) }
    }
}
