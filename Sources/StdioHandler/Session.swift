import BalloonPOSIX
import HandlerKit
import HandlerProtocol
import Logging
import Synchronization

/// The handler's side of `balloon-handler/1`.
final class Session: Sendable {
    private struct State {
        var handler: (any Handler)?
        var tasks: [String: Task<Void, Never>] = [:]
    }

    private let factory: any HandlerFactory
    private let output: Output
    private let calls: ServerCalls
    private let logger = Logger(label: "handler") { _ in StandardErrorLog() }
    private let state = Mutex(State())

    init(factory: any HandlerFactory, output: Output) {
        self.factory = factory
        self.output = output
        calls = ServerCalls(output)
    }

    /// Answers the server's calls until the input ends; then waits for the calls in flight and shuts down the
    /// handler.
    func run(_ input: AsyncStream<[UInt8]>) async {
        var splitter = LineSplitter(maximumBytes: ProtocolVersion.maximumLineBytes)
        for await bytes in input {
            for piece in splitter.take(bytes) {
                switch piece {
                case .line(let line): take(line)
                case .tooLong(let beginning): skip(beginning)
                }
            }
        }
        // The input has ended, so pending calls to the server can get no answer any more.
        calls.close()
        for task in state.withLock({ Array($0.tasks.values) }) { await task.value }
        await (handler as? any LifecycleHandler)?.shutdown()
    }

    private var handler: (any Handler)? { state.withLock { $0.handler } }

    private func take(_ line: [UInt8]) {
        switch RPCMessage(line: line) {
        case .request(let id, Method.initialize, let params):
            // Do not wait for this task: provisioning may call the server, and only this loop reads the
            // server's answers.
            let task = Task { await initialize(id, params) }
            state.withLock { $0.tasks[Method.initialize] = task }
        case .request(let id, Method.event, let params): begin(id, params)
        case .request(let id, Method.retention, let params): beginRetention(id, params)
        case .request(let id, Method.payment, let params): beginPayment(id, params)
        case .request(let id, Method.ping, _), .request(let id, Method.shutdown, _):
            output.write(RPCLine.result(id: id))
        case .request(let id, let method, _):
            refuse(id, RPCFailure.Code.unknownMethod, "unknown method \(method)")
        case .notification(Method.cancel, let params):
            let key = params["deliveryId"]?.string ?? params["callId"]?.int.map(Self.key(ofPayment:))
            guard let key else { return }
            state.withLock { $0.tasks[key] }?.cancel()
        case .result(let id, let result): calls.settle(id, .success(result))
        case .failure(let id, let failure): calls.settle(id, .failure(failure))
        case .notification: break
        case nil: skip(line)
        }
    }

    /// Ignores a line that is no message: it has no id to answer.
    private func skip(_ line: [UInt8]) {
        // Log the length only, because the content may be a customer's.
        logger.warning(
            "a line of the server is no message; skipping it", metadata: ["bytes": "\(line.count)"])
    }

    /// Creates and provisions the handler, and then reports its subscriptions to the server.
    ///
    /// The server sends no events before that, and counts no attempts.
    private func initialize(_ id: JSONValue, _ params: JSONValue) async {
        do {
            let initialization = try Initialization(params)
            let handler = try factory.make(configuration: initialization.configuration)
            try (handler as? any LifecycleHandler)?.validate()
            await provision(handler, host(initialization))
            state.withLock { $0.handler = handler }
            let introduction = Introduction(
                name: factory.name, events: Set(subscriptions(of: handler)),
                answersRetention: handler is any RetentionHandler, payments: payments(of: handler) ?? [])
            output.write(RPCLine.result(id: id) { introduction.write(to: &$0) })
        } catch {
            refuse(id, RPCFailure.Code.badConfiguration, "\(error)")
            ProcessEnd.exit(ProcessEnd.configuration)
        }
    }

    /// Provisions the handler.
    ///
    /// When provisioning fails, the program ends, and the server restarts it after a pause.
    private func provision(_ handler: any Handler, _ host: HandlerHost) async {
        guard let handler = handler as? any LifecycleHandler else { return }
        do {
            try await handler.provision(host)
        } catch {
            logger.error(
                "the handler could not prepare itself (provision); the program ends, and the server starts it again",
                metadata: ["error": "\(type(of: error))"])
            ProcessEnd.exit(ProcessEnd.temporaryFailure)
        }
    }

    private func host(_ initialization: Initialization) -> HandlerHost {
        let (calls, business) = (calls, initialization.business)
        return HandlerHost(
            business: business, slug: initialization.slug, logger: logger,
            withdrawPayment: { identifier in
                let answer = await calls.call(Method.withdrawPayment) {
                    $0.field("requestIdentifier", identifier)
                }
                guard case .success(let result) = answer else { throw HandlerHostError.notStored }
                return result["withdrawn"]?.bool ?? false
            }
        ) { message, customer, key in
            let call = ReplyCall(customer: customer, key: key, message: message)
            let answer = await calls.call(Method.reply) { call.write(from: business, to: &$0) }
            switch answer {
            case .success(let result): return MessageID(result["messageId"]?.string ?? "")
            case .failure(let failure) where failure.code == RPCFailure.Code.invalidParameters:
                throw HandlerHostError.unusableMessage(AnswerRefusal(failure))
            case .failure(let failure) where failure.code == RPCFailure.Code.withPerson:
                throw HandlerHostError.withPerson
            case .failure(let failure) where failure.code == RPCFailure.Code.permanent:
                throw HandlerHostError.noConversations
            case .failure: throw HandlerHostError.notStored
            }
        }
    }

    private func begin(_ id: JSONValue, _ params: JSONValue) {
        guard let handler else { return refuse(id, RPCFailure.Code.retryable, "not initialized") }
        let context: Context
        do {
            context = try EventCall.context(params, logger: logger) { path in
                try Descriptor.open(reading: path).readToEnd(maximumBytes: 128 << 20)
            }
        } catch {
            return refuse(id, RPCFailure.Code.invalidParameters, "\(error)")
        }
        start(context.deliveryID.rawValue, id) {
            do {
                let outcome = try await dispatch(context, to: handler) ?? .handled
                self.output.write(RPCLine.result(id: id) { EventAnswer.write(outcome, to: context, &$0) })
            } catch {
                guard let refusal = AnswerRefusal(thrown: error) else { throw error }
                self.output.write(RPCLine.failure(id: id, RPCFailure(refusing: refusal)))
            }
        }
    }

    private func beginRetention(_ id: JSONValue, _ params: JSONValue) {
        guard let handler = handler as? any RetentionHandler else {
            return refuse(id, RPCFailure.Code.unknownMethod, "the handler answers no retention questions")
        }
        do {
            let (request, context) = try RetentionCall.read(params, logger: logger)
            // The prefix distinguishes this task from those of deliveries.
            start("retention \(request.requestIdentifier)", id) {
                let choice = try await handler.retention(request, context)
                self.output.write(RPCLine.result(id: id, raw: RetentionCall.json(choice)))
            }
        } catch {
            refuse(id, RPCFailure.Code.invalidParameters, "\(error)")
        }
    }

    /// Returns the name of a payment's task, which no delivery has.
    private static func key(ofPayment id: Int) -> String { "payment \(id)" }

    private func beginPayment(_ id: JSONValue, _ params: JSONValue) {
        guard let handler else { return refuse(id, RPCFailure.Code.retryable, "not initialized") }
        start(Self.key(ofPayment: id.int ?? 0), id) {
            guard let context = try PaymentCall.context(params, logger: self.logger) else {
                guard try await dispatch(try PaymentCall.reversal(params), to: handler) else {
                    return self.refuse(id, RPCFailure.Code.unknownMethod, "no payment gateway")
                }
                return self.output.write(RPCLine.result(id: id))
            }
            guard let answer = try await dispatch(context, to: handler) else {
                return self.refuse(
                    id, RPCFailure.Code.unknownMethod, "no handler for \(context.callback.kind)")
            }
            self.output.write(RPCLine.result(id: id, raw: PaymentCall.json(answer)))
        }
    }

    /// Answers a call in a task of this name, by which the server can cancel it.
    private func start(
        _ name: String, _ id: JSONValue, _ answer: @escaping @Sendable () async throws -> Void
    ) {
        state.withLock { state in
            state.tasks[name] = Task {
                do { try await answer() } catch {
                    // Send only the error's type, because its text may quote a customer or a subscriber.
                    refuse(id, RPCFailure.Code.retryable, "the handler threw \(type(of: error))")
                }
                self.state.withLock { $0.tasks[name] = nil }
            }
        }
    }

    private func refuse(_ id: JSONValue, _ code: Int, _ message: String) {
        output.write(RPCLine.failure(id: id, RPCFailure(code: code, message: message)))
    }
}

extension AnswerRefusal {
    /// Uses the problems that the server listed; when it listed none, makes one problem of its message.
    fileprivate init(_ failure: RPCFailure) {
        let unnamed = Problem(
            rule: "parameters", pointer: "", found: "\"\(failure.message)\"", allowed: "valid parameters",
            passage: "balloon-handler/1, \"A message without an event\"")
        self.init(failure.problems.isEmpty ? [unnamed] : failure.problems)
    }
}
