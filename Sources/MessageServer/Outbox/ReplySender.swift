import BalloonPOSIX
import BusinessMessages
import GatewayClient
import Logging
import MessageStore
import Synchronization

/// Sends queued replies, those of a conversation in the order in which they were decided: stage `reply`.
///
/// ```
///   outbox ──lease──> closed? ──> upload files ──> check ──> gateway ──┬─ settle: accepted, refused, dropped
///     ^                                                                │
///     └──────────── postpone: it is retried later ─────────────────────┘
/// ```
///
/// The gateway client makes one attempt; the outbox schedules retries. ``GatewayHealth`` decides how an
/// answer to one reply affects the other replies.
final class ReplySender: Sendable {
    let store: Store
    let replyFiles: ReplyFiles
    /// Adds the parts of sign-ins that are created only at sending.
    let signIns: SignInParts
    /// Adds the parts of payments that are created only at sending.
    let payments: PaymentParts
    /// The callers that wait for the outcome of a proactive message.
    let outcomes = SendOutcomes()
    let gateway: GatewayClient
    /// Reads title and image of links; nil leaves links as they are.
    let linkPages: LinkPages?
    /// Learns which questions the customers have got.
    private let recentAnswers: RecentAnswers
    private let observer: any StageObserver
    let logger: Logger
    let configuration: CurrentConfiguration
    /// The waits before a reply is sent again; half of each is random.
    private let backoff: Backoff
    /// The longest wait that the gateway's `Retry-After` may cause.
    private let maximumRetryAfter: Duration
    /// The waits after a 401 or 403; the longest is half of the time for which the acceptance of another reply
    /// is evidence.
    private let refusalBackoff: Backoff
    /// Whether the handler of a business subscribes to failed replies.
    private let reportsFailures: @Sendable (BusinessID) -> Bool
    /// Called for each message to a customer that Apple accepts; must return quickly.
    private let didAccept: @Sendable (ConversationID) -> Void
    /// The executor for reading conversations and files, whose threads may block on the disk.
    private let executor = BlockingTaskExecutor(maximumThreads: max(2, ProcessorCount.available()))

    private struct State {
        var health = GatewayHealth()
        /// The time at which the latest timer fires.
        var wakesAt: Timestamp?
    }

    private let state = Mutex(State())

    /// The interval between searches for expired replies while any replies are queued.
    private static let heartbeat = Duration.seconds(60)

    init(
        store: Store, gateway: GatewayClient, replyFiles: ReplyFiles,
        signIns: SignInSettings? = nil, payments: PaymentParts? = nil,
        linkPages: LinkPages? = nil, recentAnswers: RecentAnswers = RecentAnswers(after: nil),
        observer: any StageObserver, logger: Logger, configuration: CurrentConfiguration,
        backoff: Backoff = Backoff(from: .seconds(1), to: .seconds(600), jitter: 0.5...1),
        maximumRetryAfter: Duration = .seconds(3600),
        refusalBackoff: Backoff = Backoff(from: .seconds(1), to: .seconds(30), jitter: 0.5...1),
        reportsFailures: @escaping @Sendable (BusinessID) -> Bool = { _ in false },
        didAccept: @escaping @Sendable (ConversationID) -> Void = { _ in }
    ) {
        self.store = store
        self.gateway = gateway
        self.replyFiles = replyFiles
        self.signIns = SignInParts(requests: store.requests, settings: signIns)
        self.payments = payments ?? PaymentParts(requests: store.requests)
        self.linkPages = linkPages
        self.recentAnswers = recentAnswers
        self.observer = observer
        self.logger = logger
        self.configuration = configuration
        self.backoff = backoff
        self.maximumRetryAfter = maximumRetryAfter
        self.refusalBackoff = refusalBackoff
        self.reportsFailures = reportsFailures
        self.didAccept = didAccept
    }

    /// The time from the decision of a reply until it expires.
    private var lifetime: Duration { configuration.gateway.replyLifetime }

    /// The pauses of sending that are in effect; empty when sending is not paused.
    var pauses: [GatewayHealth.Report] { state.withLock { $0.health.pauses } }

    /// The replies that the gateway refuses for a cause that is not known yet; nil when there are none.
    var unexplainedRefusals: GatewayHealth.UnexplainedRefusals? {
        state.withLock { $0.health.unexplained(at: SteadyClock.now()) }
    }

    /// Sends until the store stops leasing or the task is cancelled.
    func run() async {
        await withTaskExecutorPreference(executor) {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.showTyping() }
                for await _ in store.replyWakeups {
                    while let entry = store.leaseExpiredReply(after: lifetime) {
                        group.addTask(executorPreference: executor) { await self.expire(entry) }
                    }
                    while let (entry, attempt) = next() {
                        group.addTask(executorPreference: executor) { await self.send(entry, attempt) }
                    }
                    reportPauses()
                    setTimer()
                }
            }
        }
    }

    /// Sends the queued replies of one conversation until none is due, for a command without a running server.
    func sendQueued(of business: BusinessID, _ customer: CustomerID) async {
        await withTaskExecutorPreference(executor) {
            while !Task.isCancelled, let entry = store.leaseReply(of: business, customer) {
                await send(entry, GatewayHealth.Attempt(entry))
            }
        }
    }

    /// Leases the next reply to attempt; nil when no reply may be sent now.
    private func next() -> (OutboxEntry, GatewayHealth.Attempt)? {
        while true {
            let now = SteadyClock.now()
            guard let lease = state.withLock({ $0.health.next(at: now) }) else { return nil }
            if let entry = store.leaseReply(lease.selection) {
                state.withLock { $0.health.begin(lease.probe) }
                return (entry, GatewayHealth.Attempt(entry, lease.probe))
            }
            guard let probe = lease.probe else { return nil }
            state.withLock { $0.health.foundNothing(for: probe, at: now) }
            if probe == .everything { return nil }
        }
    }

    /// Makes one attempt to send a reply and records the result.
    ///
    /// The reply ends, or is retried later.
    private func send(_ entry: OutboxEntry, _ attempt: GatewayHealth.Attempt) async {
        var stages = DeliveryStages(entry, observer)
        stages.begin(.reply)
        let decision = await decision(about: entry)
        let sent: SendDecision? = if case .tried(let sent) = decision { sent } else { nil }
        let isOnlyBusiness = configuration.businesses.count <= 1
        let actions = state.withLock {
            $0.health.decide(attempt, sent, isOnlyBusiness: isOnlyBusiness, at: SteadyClock.now())
        }
        switch decision {
        case .ended(let result): await settle(entry, result, stages)
        case .tried(.accepted(let status)): await settle(entry, .accepted(status: status), stages)
        case .tried(.refused(let status, let reason)):
            await settle(entry, .refused(status: status, reason: reason), stages)
        case .tried(.wait(let reason, let atLeast, _)):
            if entry.reply.kind.isTyping {
                await settle(entry, .dropped(reason: "typing is tried once: \(reason)"), stages)
            } else {
                postpone(entry, by: backoff, atLeast: atLeast, reason, stages)
            }
        case .tried(.credentialRefused(let status, let reason)) where actions.contains(.refuse):
            await settle(entry, .refused(status: status, reason: reason), stages)
        case .tried(.credentialRefused(let status, _)):
            postpone(entry, by: refusalBackoff, "the gateway refused with \(status)", stages)
        case .tried(.interrupted):
            store.release(entry)
            stages.end(.released(reason: "interrupted; the reply is sent after a restart"))
        }
        for case .resumed(let business, let isAnnounced) in actions {
            if isAnnounced {
                logger.notice(
                    "sending of replies resumed", metadata: business.map { ["business": "\($0.rawValue)"] })
            }
            store.wakeReplySender()
        }
    }

    private func postpone(
        _ entry: OutboxEntry, by backoff: Backoff, atLeast: Duration? = nil, _ reason: String,
        _ stages: DeliveryStages
    ) {
        let delay = backoff.delay(
            after: entry.attempts + 1, atLeast: atLeast, limit: maximumRetryAfter)
        stages.end(.postponed(milliseconds: delay.wholeMilliseconds, reason: reason))
        store.postpone(entry, after: delay, atLeast: atLeast)
    }

    private func expire(_ entry: OutboxEntry) async {
        var stages = DeliveryStages(entry, observer)
        stages.begin(.reply)
        let reason =
            "not sent within \(lifetime.components.seconds / 3600) hours, in \(store.tries(entry)) attempts"
        await settle(entry, .expired(reason: reason), stages)
    }

    /// Records the end of a reply, and retries until the journal has the record.
    ///
    /// Without the record, an accepted reply would be sent again. A stop of the server ends the retries;
    /// after the restart the reply is sent again with the same id.
    private func settle(_ entry: OutboxEntry, _ result: ReplyResult, _ stages: DeliveryStages) async {
        if result.status == .accepted, !entry.reply.kind.isTyping {
            recentAnswers.recordQuestion(in: entry)
            didAccept(ConversationID(business: entry.business, customer: entry.customer))
        }
        // A parked reply is not reported to the handler, because an operator decides about the reply.
        let isReported =
            entry.isReportable && result.isDeadLetter && store.reasonToPark(entry.id.record) == nil
            && reportsFailures(entry.business)
        guard await store.settleUntilDone(entry, result, isReported: isReported, signIns, payments) else {
            return stages.end(
                .released(reason: "the reply's end was not recorded; it is sent again after a restart"))
        }
        outcomes.settle(entry.reply.id, result)
        let reason = result.reason ?? ""
        switch result.status {
        case .accepted: stages.end(.done, status: result.httpStatus)
        case .erased: stages.end(.ended("erased"))
        default:
            stages.end(
                result.httpStatus.map { .refused(status: $0, reason: reason) } ?? .failed(reason: reason))
        }
    }

    private func reportPauses() {
        for pause in state.withLock({ $0.health.reports(at: SteadyClock.now()) }) {
            logger.error(
                "sending of replies paused; probing the gateway",
                metadata: [
                    "business": "\(pause.business?.rawValue ?? "all")", "reason": "\(pause.cause)",
                    "since": "\(pause.since.rfc3339)", "queued": "\(store.queuedReplyCount)",
                ])
        }
    }

    /// Schedules the next check, for the case that until then no reply is added and no attempt ends.
    private func setTimer() {
        let now = SteadyClock.now()
        let wakesAt = state.withLock { state -> Timestamp? in
            var next = state.health.nextLook
            if store.queuedReplyCount > 0 {
                let heartbeat = now.advanced(by: Self.heartbeat)
                next = min(next ?? heartbeat, heartbeat)
            }
            guard let next else { return nil }
            if let set = state.wakesAt, set > now, set <= next { return nil }
            state.wakesAt = next
            return next
        }
        if let wakesAt { store.wakeReplySender(at: wakesAt) }
    }
}

extension GatewayHealth.Attempt {
    /// The facts of the attempt that begins now for a leased reply.
    fileprivate init(_ entry: OutboxEntry, _ probe: GatewayHealth.Probe? = nil) {
        self.init(
            id: entry.id, business: entry.business, customer: entry.customer, begunAt: SteadyClock.now(),
            probe: probe)
    }
}

extension Store {
    /// Records the end of a reply, and retries until that succeeds.
    ///
    /// Returns false when the store stops; a restart may then send the reply again.
    fileprivate func settleUntilDone(
        _ entry: OutboxEntry, _ result: ReplyResult, isReported: Bool, _ signIns: SignInParts,
        _ payments: PaymentParts
    ) async -> Bool {
        var backoff = diskBackoff
        var failures = 0
        while true {
            do {
                // Settle the open request first: after a crash before the record, the reply is sent again
                // with the same request.
                try await signIns.settle(entry, result)
                try await payments.settle(entry, result)
                try await settle(entry, result, leavesLine: failures >= 5, isReported: isReported)
                return true
            } catch {
                guard let error = error as? StoreError, error.disposition != .stop else { return false }
                // A full disk does not count as a failure: the retries wait for free space without a limit.
                if error.disposition != .retryLater { failures += 1 }
                guard await pause(for: backoff.fail()) else { return false }
            }
        }
    }
}
