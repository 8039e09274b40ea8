import BalloonPOSIX
import HandlerKit
import Logging
import Synchronization

/// The handler of one app, with slots of its own; when no slot is free, a question fails at once instead of
/// waiting.
///
/// Invariant: at most `concurrency` calls are in flight, including calls that have exceeded their time.
final class RetentionResponder: Sendable {
    /// The reason why the rule file decides instead of the handler; the raw value is written to the record of
    /// decisions.
    enum Failure: String, Error, Sendable {
        /// The handler did not answer within its time.
        case late
        /// The handler is not running, ended during the call, or answered with an error.
        case failed
        /// The answer is malformed, or the App Store would ignore it.
        case invalid
        /// All slots are taken by earlier questions.
        case busy
    }

    /// The fingerprint of the handler's inputs, with which a reload detects changes.
    let fingerprint: [UInt8]
    private let handler: any RetentionHandler
    private let life: HandlerLifecycle
    private let slug: String
    private let slots: HandlerSlots
    private let concurrency: Int
    private let inFlight = Atomic(0)
    private let isFailing = Atomic(false)
    private let logger: Logger
    private let threads = SharedThreads()

    init(
        _ handler: any RetentionHandler, _ life: HandlerLifecycle, slug: String, fingerprint: [UInt8],
        concurrency: Int, logger: Logger
    ) {
        self.handler = handler
        self.life = life
        self.slug = slug
        self.fingerprint = fingerprint
        self.concurrency = concurrency
        self.logger = logger
        slots = HandlerSlots(maximumCount: concurrency)
    }

    /// Starts the handler.
    func start() { life.start() }

    /// Ends the handler within `time`; the questions of calls in flight are answered from the rule file.
    func shutdown(within time: Duration = HandlerLifecycle.maximumShutdown) async {
        slots.close()
        await life.shutdown(within: time)
    }

    /// Asks the handler; nil when the handler leaves the answer to the rule file.
    ///
    /// Returns or throws after `time` at the latest.
    func choice(
        for request: RetentionRequest, within time: Duration
    ) async throws(Failure) -> RetentionChoice? {
        guard time > .zero else { throw .late }
        guard life.isProvisioned else {
            report(.failed, "the handler is not started")
            throw .failed
        }
        guard enter() else { throw .busy }
        let context = RetentionContext(app: slug, deadline: .now + time, logger: logger)
        let answer: Result<RetentionChoice?, HandlerFailure>?
        do {
            answer = try await slots.run(within: time, on: threads) { [self, handler] in
                defer { leave() }
                do { return .success(try await handler.retention(request, context)) } catch {
                    return .failure(HandlerFailure(error))
                }
            }
        } catch {
            // The slots are closed, because the server stops or a reload replaces the handler.
            leave()
            throw .failed
        }
        switch answer {
        case nil:
            report(.late, HandlerFailure.overran.reason)
            throw .late
        case .failure(let failure)?:
            let isRefusal = if case .refused = failure { true } else { false }
            // A bridge may report that the deadline has passed before the slot's own timer fires.
            let kind: Failure =
                ContinuousClock.now >= context.deadline ? .late : isRefusal ? .invalid : .failed
            report(kind, failure.reason)
            throw kind
        case .success(let choice)?: return choice
        }
    }

    /// Records that the App Store would show the answer; logs the recovery when the previous answer was a
    /// failure.
    func recordSuccess() {
        guard isFailing.exchange(false, ordering: .relaxed) else { return }
        logger.notice("retention handler answers again")
    }

    /// Records a failure; logs the first failure after a success as a warning, and later ones at the level
    /// debug.
    func report(_ failure: Failure, _ reason: String) {
        let isFirst = !isFailing.exchange(true, ordering: .relaxed)
        logger.log(
            level: isFirst ? .warning : .debug, "retention handler failed; the rule file answers",
            metadata: ["failure": "\(failure.rawValue)", "reason": "\(reason)"])
    }

    private func enter() -> Bool {
        let (_, count) = inFlight.add(1, ordering: .relaxed)
        guard count > concurrency else { return true }
        leave()
        return false
    }

    private func leave() { inFlight.subtract(1, ordering: .relaxed) }
}
