import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import Logging
import RetentionClient
import RetentionMessages
import Synchronization

/// Answers the questions of the App Store: verify → repeat → handler or rule → sign → answer → record.
///
/// The App Store waits 700 ms for an answer. The endpoint does not wait for the disk. Only an app's handler
/// may wait for another machine, and only within the app's budget of time.
final class RetentionEndpoint: Sendable {
    /// The JSON of an answer, or nil for an answer with the status 503 and without JSON.
    private typealias Decided = Result<[UInt8]?, RetentionRefusal>

    /// The questions that were answered lately, and those in progress.
    private struct Questions {
        var answered = RepeatedAnswers()
        /// The questions whose first answer is being decided.
        var inFlight: [RepeatedAnswers.Key: Task<Decided, Never>] = [:]
    }

    private let apps: RetentionApps
    private let verifier: QuestionVerifier
    private let clock: TimeSource
    private let decisions: DecisionLog
    private let threads: PublicKeyThreads
    private let logger: Logger
    private let questions = Mutex(Questions())
    private let references = Mutex(ReferenceSequence())

    init(
        _ apps: RetentionApps, decisions: DecisionLog, logger: Logger, threads: PublicKeyThreads = .shared,
        clock: TimeSource = .system
    ) {
        self.apps = apps
        self.decisions = decisions
        self.threads = threads
        self.clock = clock
        self.logger = logger
        verifier = QuestionVerifier(threads: threads, clock: clock)
    }

    /// Returns the answer to a request's body; a refused request gets an error status and a reference to its
    /// log line.
    ///
    /// The time is limited by the queue of signatures and by the budget of the app's handler.
    func answer(
        _ body: ArraySlice<UInt8>, slug: String, _ environment: RetentionEnvironment
    ) async -> HTTPResponse {
        do throws(RetentionRefusal) {
            return try await answered(body, slug, environment)
        } catch {
            let reference = references.withLock { $0.next() }.text
            // A refusal is no warning, because any client can send a forged question.
            logger.info(
                "the App Store's request for a retention message was refused",
                metadata: [
                    "environment": "\(environment.name)", "status": "\(error.status.code)",
                    "reason": "\(error.reason)", "reference": "\(reference)",
                ])
            return HTTPResponse(error.status, text: "\(error.status.reason) (reference \(reference))\n")
        }
    }

    private func answered(
        _ body: ArraySlice<UInt8>, _ slug: String, _ environment: RetentionEnvironment
    ) async throws(RetentionRefusal) -> HTTPResponse {
        let start = clock.uptime()
        guard let served = apps.app(slug, environment) else { throw .unknownApp }
        let request = try await verifier.verify(body, for: served.app, environment)
        if environment == .sandbox, request.appAppleID != served.app.identity.appleID {
            logger.info(
                "a request of the App Store's sandbox for a retention message has another app's appAppleId; it was answered anyway",
                metadata: ["app": "\(slug)"])
        }
        let key = RepeatedAnswers.Key(
            slug: slug, environment: environment, identifier: request.requestIdentifier)
        let decision = questions.withLock { questions -> Task<Decided, Never> in
            if let first = questions.answered.answer(to: key, at: start) {
                return Task { .success(first) }
            }
            // A repetition that arrives before the first answer is decided waits for that answer.
            if let task = questions.inFlight[key] { return task }
            let task = Task { @concurrent in
                let decided = await self.decide(request, served, start)
                self.finish(key, decided)
                return decided
            }
            questions.inFlight[key] = task
            return task
        }
        guard let bytes = try await decision.value.get() else {
            return HTTPResponse(.serviceUnavailable, text: "No answer\n")
        }
        return HTTPResponse(.ok, json: bytes)
    }

    private func finish(_ key: RepeatedAnswers.Key, _ decided: Decided) {
        questions.withLock { questions in
            questions.inFlight[key] = nil
            guard case .success(let bytes?) = decided else { return }
            _ = questions.answered.keep(bytes, to: key, at: clock.uptime())
        }
    }

    private func decide(
        _ request: RetentionRequest, _ served: RetentionApps.Served, _ start: Duration
    ) async -> Decided {
        let (choice, source, failure) = await choice(for: request, served, start)
        let answer: RetentionAnswer?
        do throws(RetentionRefusal) { answer = try await signed(choice, request, served.app) } catch {
            return .failure(error)
        }
        decisions.append(
            DecisionLog.Decision(
                slug: served.app.slug, environment: request.environment, product: request.productID,
                locale: request.locale, answer: answer?.summary, source: answer == nil ? "none" : source,
                failure: failure, milliseconds: Int((clock.uptime() - start) / .milliseconds(1)),
                at: Timestamp(milliseconds: Int64(clock.milliseconds()))))
        guard answer != nil || served.app.noAnswer == .empty else { return .success(nil) }
        return .success(answer?.json ?? Array("{}".utf8))
    }

    /// Returns the choice of the app's handler or else of its rule file, the source, and the handler's
    /// failure.
    private func choice(
        for request: RetentionRequest, _ served: RetentionApps.Served, _ start: Duration
    ) async -> (choice: RetentionChoice?, source: String, failure: RetentionResponder.Failure?) {
        let app = served.app
        var failure: RetentionResponder.Failure?
        if let handler = served.handler {
            do throws(RetentionResponder.Failure) {
                let left = app.budget - (clock.uptime() - start)
                if let choice = try await handler.choice(for: request, within: left) {
                    guard Self.isPossible(choice, app.folder, served.states) else {
                        handler.report(.invalid, "the App Store would not show the message")
                        throw .invalid
                    }
                    handler.recordSuccess()
                    return (choice, "handler", nil)
                }
                handler.recordSuccess()
            } catch {
                failure = error
            }
        }
        let choice = app.folder.rules.answer(to: request) {
            Self.isPossible($0, app.folder, served.states)
        }
        return (choice, "rule", failure)
    }

    /// Whether the App Store would show the message of a choice.
    ///
    /// The message must be in the folder and approved. Where the App Store requires it, the message must also
    /// be plain.
    static func isPossible(
        _ choice: RetentionChoice, _ folder: RetentionFolder, _ states: RetentionStates
    ) -> Bool {
        guard let name = choice.message else { return true }
        guard let message = folder.message(name), states.isApproved(message) else { return false }
        return !choice.needsPlainMessage || message.content.isPlain
    }

    private func signed(
        _ choice: RetentionChoice?, _ request: RetentionRequest, _ app: AppConfiguration
    ) async throws(RetentionRefusal) -> RetentionAnswer? {
        guard let choice else { return nil }
        let message = choice.message.flatMap { app.folder.message($0)?.id }
        switch (choice, message) {
        case (.advancedCommerce(let json), _): return .advancedCommerce(json)
        case (_, nil): return nil
        case (.message, let message?): return .message(message)
        case (.alternateProduct(_, let product, let plan), let message?):
            return .alternateProduct(message, product, billingPlanType: plan)
        case (.promotionalOffer(_, let offer), let message?):
            let (signer, now) = (OfferSigner(app.identity), clock.milliseconds())
            let result = await threads.run {
                // The error is dropped, because it says only that memory is exhausted.
                try? signer.sign(offer, for: request, atMilliseconds: now)
            }
            guard let result else { throw .queueFull }
            guard let result else { throw .offer }
            return .promotionalOffer(message, result)
        }
    }
}

extension RetentionAnswer {
    /// The type and the message of the answer, for the record of decisions.
    fileprivate var summary: String {
        switch self {
        case .message(let message): "message \(message)"
        case .alternateProduct(let message, let product, _): "alternateProduct \(message) \(product)"
        case .promotionalOffer(let message, _): "promotionalOffer \(message)"
        case .advancedCommerce: "advancedCommerceInfo"
        }
    }
}
