import BalloonPOSIX
import BusinessMessages
import Logging
import MessageStore
import Payments

/// The parts of a server that process payments.
struct PaymentServices: Sendable {
    let settings: PaymentSettings
    let parts: PaymentParts
    let results: PaymentResults
    let routes: PaymentRoutes
    private let reversals: PaymentReversals
    private let records: PaymentRecords
    private let requests: OpenRequests
    private let logger: Logger

    private static let sweepInterval = Duration.seconds(24 * 3600)

    /// Composes the parts; throws a ``TransportError`` when no file descriptors are left.
    init(
        _ configuration: CurrentConfiguration, store: Store, handlers: any PaymentHandling, logger: Logger,
        clock: PaymentClock = PaymentClock()
    ) throws {
        let settings = PaymentSettings(configuration)
        let records = PaymentRecords(dataDirectory: configuration.dataDirectory, logger: logger)
        let reversals = PaymentReversals(
            requests: store.requests, settings: settings, handlers: handlers, records: records, clock: clock,
            lifetime: configuration.gateway.replyLifetime, timings: configuration.paymentTimings,
            logger: logger)
        let tokens = PaymentTokens()
        let now = clock.now()
        for business in settings.all where business.section.decryption != nil {
            let start = now.advanced(by: .zero - PaymentTokens.lifetime)
            for use in try records.transactions(of: business.slug, since: start) {
                tokens.remember(use.transaction, of: use.attempt, at: use.at)
            }
        }
        if settings.decryptsTokens { try CoreDumpLimit.forbid() }
        self.settings = settings
        self.records = records
        requests = store.requests
        self.reversals = reversals
        self.logger = logger
        parts = PaymentParts(
            requests: store.requests, settings: settings,
            sessions: try MerchantSessionClient(),
            callbacks: { handlers.callbacks(of: $0) })
        results = PaymentResults(
            requests: store.requests, settings: settings, reversals: reversals, clock: clock)
        routes = PaymentRoutes(
            flow: PaymentFlow(
                requests: store.requests, settings: settings, handlers: handlers, reversals: reversals,
                records: records, tokens: tokens, clock: clock, timings: configuration.paymentTimings,
                logger: logger), settings: settings, logger: logger)
    }

    /// The number of reversals that are dead letters, by business.
    var deadLetters: [BusinessID: Int] { reversals.deadLetters }

    /// Applies an operator's decision about reversals that are dead letters.
    func apply(_ decision: ReversalDecision) async throws {
        defer { reversals.wake() }
        try await decision.apply(to: requests, records, at: .now()) { [settings] business, _ in
            settings[business]?.slug
        }
    }

    /// Runs `change` while no line is appended to the records of payments.
    func excludingRecords(_ change: () -> Void) { records.excluding(change) }

    /// Reverses charges and removes old records until ``stop()``.
    func run() async {
        let sweep = Task.repeating(every: Self.sweepInterval) {
            for business in settings.all { remove(business) }
        }
        await reversals.run()
        sweep.cancel()
    }

    /// Forbids core dumps when a business of the configuration in effect decrypts tokens.
    ///
    /// A process that has decrypted tokens has card numbers in its memory. Once a business decrypts tokens,
    /// the process therefore writes no core dump until it ends.
    func forbidCoreDumps() {
        guard settings.decryptsTokens else { return }
        do { try CoreDumpLimit.forbid() } catch {
            logger.error(
                "core dumps could not be forbidden; they would contain decrypted payment tokens",
                metadata: ["error": "\(error)"])
        }
    }

    /// Ends ``run()``; open reversals continue after a restart.
    func stop() { reversals.stop() }

    private func remove(_ business: PaymentSettings.Business) {
        do {
            try records.files.sweep(business.slug, keeping: business.section.recordsDays, at: .now())
        } catch {
            logger.warning(
                "old payment records not removed; the next day removes them",
                metadata: ["business": "\(business.slug)", "error": "\(error)"])
        }
    }
}
