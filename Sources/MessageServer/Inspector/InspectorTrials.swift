import BalloonHTTP
import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// Shows a delivery's message to another handler, and sends that handler's replies only on request.
///
/// The handler gets the state that the first attempt got, and the conversation up to the message. Nothing of the call is kept:
/// neither the journal nor the conversation changes before the replies are sent.
final class InspectorTrials: Sendable {
    /// The answer to one call.
    private struct Run: Sendable {
        let outcome: Result<Outcome, HandlerFailure>
        let duration: Duration
        /// The new state; nil when it does not change.
        let state: [UInt8]?
        let lines: [String]

        var answer: Outcome? { if case .success(let answer) = outcome { answer } else { nil } }
        var failure: HandlerFailure? { if case .failure(let failure) = outcome { failure } else { nil } }
    }

    /// Calls whose replies may still be sent.
    private struct Trial: Sendable {
        let business: BusinessID
        let customer: CustomerID
        let runs: [[Reply]]
    }

    private struct State {
        var trials: [String: Trial] = [:]
        var last = 0
    }

    private static let maximumTrials = 20
    private static let startLimit = Duration.seconds(15)
    private static let callLimit = Duration.seconds(30)
    /// The time after the first call's begin at which no further call begins.
    private static let totalLimit = Duration.seconds(300)
    private static let sendLimit = Duration.seconds(5)

    private let store: Store
    private let pipelines: Pipelines
    private let registry: HandlerRegistry
    private let attempts: InspectorAttempts
    private let state = Mutex(State())

    init(_ store: Store, _ pipelines: Pipelines, _ registry: HandlerRegistry, _ attempts: InspectorAttempts) {
        self.store = store
        self.pipelines = pipelines
        self.registry = registry
        self.attempts = attempts
    }

    /// Calls a handler `times` times with a message, and returns the handler's answers as JSON.
    func run(
        _ handler: any Handler, _ event: JournalEvent, _ message: [UInt8], times: Int
    ) async throws -> [UInt8] {
        let host = HandlerHost(
            business: event.business, slug: registry[event.business]?.slug ?? "", logger: Self.quiet
        ) { _, _, _ in
            // A message that the handler sends without an event would reach the customer, so refuse it.
            throw HandlerHostError.notStored
        }
        let life = HandlerLifecycle(handler, host: host)
        life.start()
        guard await life.waitUntilReady(within: Self.startLimit) == true else {
            let lines = await life.report.log
            await life.shutdown()
            throw InspectorProblem(
                .unprocessableContent, "the handler did not start: \(lines.last ?? "it wrote nothing")",
                pointer: "/to")
        }
        var runs: [Run] = []
        let end = ContinuousClock.now + Self.totalLimit
        do {
            for _ in 0..<times where ContinuousClock.now < end {
                runs.append(try await call(handler, event, message))
            }
        } catch {
            await life.shutdown()
            throw error
        }
        await life.shutdown()
        return Self.form.json((keep(runs, event), runs.map { ($0, event) }))
    }

    private static let quiet = Logger(label: "trial") { _ in SwiftLogNoOpLogHandler() }

    private func call(
        _ handler: any Handler, _ event: JournalEvent, _ message: [UInt8]
    ) async throws -> Run {
        let context = try await context(event, message)
        let seen = await (handler as? any EventHandler)?.report.lines.last?.number ?? 0
        let began = ContinuousClock.now
        let call = Task<Result<Outcome, HandlerFailure>, Never> {
            do { return .success(try await dispatch(context, to: handler) ?? .handled) } catch {
                return .failure(HandlerFailure(error))
            }
        }
        var outcome = await call.value(within: Self.callLimit) ?? .failure(.overran)
        call.cancel()
        let duration = ContinuousClock.now - began
        if case .success(let given) = outcome {
            let capabilities = event.attributes.capabilityList.map { Capabilities(parsing: $0) }
            do throws(AnswerRefusal) {
                outcome = .success(
                    try CheckedAnswer.check(
                        given, context, for: capabilities,
                        allowsClassicSignIn: pipelines.deliveries.signIns?.settings.hasClassic(event.business)
                            ?? false))
            } catch {
                outcome = .failure(.refused(error))
            }
        }
        let lines = await (handler as? any EventHandler)?.report.lines.filter { $0.number > seen } ?? []
        return Run(
            outcome: outcome, duration: duration, state: context.state.change, lines: lines.map(\.text))
    }

    private func context(_ event: JournalEvent, _ message: [UInt8]) async throws -> Context {
        let document: JSONDocument
        do { document = try JSONDocument(message, limits: .stored) } catch {
            throw InspectorProblem(.badRequest, "the message is no JSON", pointer: "/message")
        }
        let line = try store.inboundLine(of: event.id, from: event.customer, to: event.business)
        let known = attempts.calls(of: event.record, []).first
        let before =
            if let known { known.before } else { try await store.state(of: event.business, event.customer) }
        let conversation = Conversation(reading: { [store] in
            try store.recentLines(of: event.business, event.customer, maximum: 200)
                .filter { $0.record < event.record }.suffix(50).compactMap { Conversation.Entry($0) }
        })
        return Context(
            event: InboundEvent.decode(
                message: document, id: event.id, business: event.business, customer: event.customer,
                attributes: MessageAttributes(event.attributes)),
            conversation: conversation,
            state: ConversationState(try before.map { try JSONDocument($0).root }),
            files: pipelines.deliveries.attachments.files.handlersView(of: line?.files ?? []),
            deliveryID: DeliveryID("\(event.record)"), receivedAt: event.at.rfc3339,
            deadline: .now + Self.callLimit, logger: Self.quiet)
    }

    private func keep(_ runs: [Run], _ event: JournalEvent) -> String {
        let replies = runs.map { $0.answer?.replies ?? [] }
        return state.withLock { state in
            state.last += 1
            let name = "\(state.last)"
            state.trials[name] = Trial(business: event.business, customer: event.customer, runs: replies)
            // The names are consecutive numbers.
            state.trials["\(state.last - Self.maximumTrials)"] = nil
            return name
        }
    }

    /// The schema of the answers to ``run(_:_:_:times:)``.
    static let schema = form.schema
    private static let form = JSONObjectForm<(trial: String, runs: [(run: Run, event: JournalEvent)])>(
        written: [
            JSONField("trial", .text) { $0.trial },
            JSONField("runs", .list(runForm.form(isClosed: false))) { $0.runs },
        ]
    ).form(isClosed: false)
    private static let runForm = JSONObjectForm<(run: Run, event: JournalEvent)>(written: [
        JSONField("ms", .number) { ($0.run.duration / .microseconds(1)).rounded() / 1000 },
        JSONField("outcome", .text) { $0.run.answer?.name ?? "failed" },
        JSONField("replies", optional: .list(.object)) { run, event in
            run.answer?.replies.map { reply in
                JSONWriter.object([
                    "kind": reply.kind.rawValue,
                    "message": JSONText(
                        reply.encodeToSend(id: .random(), from: event.business, to: event.customer)),
                ])
            }
        },
        JSONField("reason", optional: .text) { $0.run.failure?.reason },
        JSONField("problems", optional: .list(JSONForm(.anyObject) { $0.write(to: &$1) })) { run, _ in
            if case .refused(let refusal) = run.failure { Array(refusal.problems.prefix(20)) } else { nil }
        },
        JSONField("state", optional: .objectOrNull) { $0.run.state.map(Optional.some) },
        JSONField("stderr", optional: .list(.text)) { $0.run.lines.suffix(100) },
    ])

    /// Sends the replies of one call, in their order; returns the outcome of each.
    func send(_ trial: String, run: Int) async throws -> [UInt8] {
        guard let trial = state.withLock({ $0.trials[trial] }), trial.runs.indices.contains(run) else {
            throw InspectorProblem(.notFound, "these replies are not known any more; replay again")
        }
        var answers: [SendAnswer] = []
        for (index, reply) in trial.runs[run].enumerated() {
            do {
                answers.append(try await pipelines.sender.send(try request(reply, trial)))
            } catch let error as SendRefusal {
                throw InspectorProblem(.unprocessableContent, "reply \(index + 1): \(error.reason)")
            }
        }
        return JSONForm.listed("sent", SendAnswer.form).json(answers)
    }

    private func request(_ reply: Reply, _ trial: Trial) throws -> SendRequest {
        let bytes = reply.encodeToSend(id: .random(), from: trial.business, to: trial.customer)
        var message = try JSONDocument(bytes)
        let files = reply.files
        if !files.isEmpty {
            // The server adds the marks and references of files itself, so remove the marks from the text.
            let text = message.root["body"]?.string?.filter { $0 != "\u{FFFC}" } ?? ""
            message = try JSONDocument(
                JSONWriter.object(["type": "text", "body": text]))
        }
        return SendRequest(
            business: trial.business, customer: trial.customer, message: message, files: files,
            wait: Self.sendLimit, isAutomatic: true)
    }
}

extension Outcome {
    /// The name as handlers spell it.
    fileprivate var name: String {
        switch self {
        case .handled: "handled"
        case .retry: "retry"
        case .reject: "reject"
        case .handoff: "handoff"
        }
    }
}
