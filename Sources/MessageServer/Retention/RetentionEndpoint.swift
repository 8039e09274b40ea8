import BalloonHTTP
import BalloonPOSIX
import BalloonWire
import Logging
import RetentionClient
import RetentionMessages
import Synchronization

/// Answers the questions of the App Store: verify → repeat → decide → sign → answer → record.
///
/// The App Store waits 700 ms. Nothing here waits for the disk or for another machine.
final class RetentionEndpoint: Sendable {
    private let apps: RetentionApps
    private let verifier: QuestionVerifier
    private let clock: QuestionVerifier.Clock
    private let decisions: DecisionLog
    private let threads: PublicKeyThreads
    private let logger: Logger
    private let repeated = Mutex(RepeatedAnswers())
    private let references = Mutex(ReferenceSequence())

    init(
        _ apps: RetentionApps, decisions: DecisionLog, logger: Logger, threads: PublicKeyThreads = .shared,
        clock: QuestionVerifier.Clock = .system
    ) {
        self.apps = apps
        self.decisions = decisions
        self.threads = threads
        self.clock = clock
        self.logger = logger
        verifier = QuestionVerifier(threads: threads, clock: clock)
    }

    /// The answer to a request's body; never throws, and never takes longer than the queue of signatures.
    func answer(
        _ body: ArraySlice<UInt8>, slug: String, _ environment: RetentionEnvironment
    ) async -> HTTPResponse {
        do throws(RetentionRefusal) {
            return try await answered(body, slug, environment)
        } catch {
            let reference = references.withLock { $0.next() }.text
            // Anybody can send a forged question, so a refusal is no warning.
            logger.info(
                "retention question refused",
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
        guard let (app, states) = apps.app(slug, environment) else { throw .unknownApp }
        let request = try await verifier.verify(body, for: app, environment)
        if environment == .sandbox, request.appAppleID != app.identity.appleID {
            logger.info(
                "retention question of the sandbox has another Apple ID; answered",
                metadata: ["app": "\(slug)"])
        }
        let key = RepeatedAnswers.Key(
            slug: slug, environment: environment, identifier: request.requestIdentifier)
        if let first = repeated.withLock({ $0.answer(to: key, at: start) }) {
            return HTTPResponse(.ok, json: first)
        }
        let choice = app.folder.rules.answer(to: request) { Self.isPossible($0, app.folder, states) }
        let answer = try await signed(choice, request, app)
        let now = clock.uptime()
        decisions.append(
            DecisionLog.Decision(
                slug: slug, environment: environment, product: request.productID, locale: request.locale,
                answer: answer?.summary, source: answer == nil ? "none" : "rule",
                milliseconds: Int((now - start) / .milliseconds(1)),
                at: Timestamp(milliseconds: Int64(clock.milliseconds()))))
        guard answer != nil || app.noAnswer == .empty else {
            return HTTPResponse(.serviceUnavailable, text: "No answer\n")
        }
        let bytes = answer?.json ?? Array("{}".utf8)
        return HTTPResponse(.ok, json: repeated.withLock { $0.keep(bytes, to: key, at: now) })
    }

    /// Whether the App Store would show an answer: its message is in the folder and approved, and plain where it must be.
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
                // The error says nothing but that memory is exhausted.
                try? signer.sign(offer, for: request, atMilliseconds: now)
            }
            guard let result else { throw .queueFull }
            guard let result else { throw .offer }
            return .promotionalOffer(message, result)
        }
    }
}

extension RetentionAnswer {
    /// The shape and the message, for the record of decisions.
    fileprivate var summary: String {
        switch self {
        case .message(let message): "message \(message)"
        case .alternateProduct(let message, let product, _): "alternateProduct \(message) \(product)"
        case .promotionalOffer(let message, _): "promotionalOffer \(message)"
        case .advancedCommerce: "advancedCommerceInfo"
        }
    }
}
