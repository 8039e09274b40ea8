import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore

/// Decides from the gateway's answers whether replies are sent, and which reply probes the gateway.
///
/// It is a value without side effects.
///
/// ```
///             two conversations of a business            two businesses
///   sending ─────────────────────────────────> paused ────────────────────> paused
///      ^           are refused                (business)     are refused    (everything)
///      └────────────────────── the reply of a probe is accepted ───────────────┘
/// ```
///
/// A reply that gets a 401 or 403 waits alone, for longer after each attempt. It becomes a dead letter only
/// when it is refused again after a reply of another conversation of its business was accepted. If the
/// credential is repaired between the attempts, for example by setting the clock, no reply becomes a dead
/// letter.
///
/// The refusals count only since the last acceptance, and pause nothing within a minute after one. So a
/// refused reply of one business delays no reply of another. With a single business, a pause of that
/// business is a pause of everything.
///
/// Twenty network errors, 429 or 5xx in a row lead to the same pauses, when they concern two conversations or
/// two businesses. While sending is paused, one reply at a time is sent as a probe, with 1 to 60 s between two
/// probes. If possible, each probe is from another conversation.
struct GatewayHealth: Sendable {
    private struct Acceptance: Sendable {
        let customer: CustomerID
        let begunAt: Timestamp
    }

    private struct Refusal: Sendable {
        let customer: CustomerID
        let status: Int
        let at: Timestamp
    }

    /// Failures in a row, without any answer of the gateway between them.
    private struct FailureRun<Source: Hashable & Sendable>: Sendable {
        private var count = 0
        private var sources: Set<Source> = []

        /// Whether enough failures of two sources show an outage.
        var isOutage: Bool { count >= GatewayHealth.maximumFailures && sources.count >= 2 }

        mutating func add(_ source: Source) {
            count = min(count + 1, GatewayHealth.maximumFailures)
            if sources.count < 2 { sources.insert(source) }
        }
    }

    /// The latest answers to the replies of one business.
    private struct Evidence: Sendable {
        var acceptance: Acceptance?
        /// The latest 401 or 403 of each reply that has not ended otherwise.
        var refusals: [ReplyID: Refusal] = [:]
        var failures = FailureRun<CustomerID>()

        /// The refusals after `start`.
        func refusals(after start: Timestamp) -> some Collection<Refusal> {
            refusals.values.lazy.filter { $0.at > start }
        }
    }

    static let maximumFailures = 20
    /// The time for which an accepted reply proves that the credential is valid.
    private static let evidenceLifetime = Duration.seconds(60)
    /// The time for which a refusal counts: several of the longest waits for the next attempt of its reply.
    private static let refusalLifetime = Duration.seconds(120)
    /// The maximum number of replies of a business whose latest 401 or 403 is remembered.
    private static let maximumRefusals = 256

    /// The pauses in effect by business; a pause of everything has the key nil, and is the only one.
    private var paused: [BusinessID?: OutboxPause] = [:]
    private var evidence: [BusinessID: Evidence] = [:]
    /// The begin of the latest accepted attempt of any business.
    private var lastAcceptance: Timestamp?
    private var failures = FailureRun<BusinessID>()
    /// The time of the last log line about a pause of each business, and of everything (nil).
    private var reportedAt: [BusinessID?: Timestamp] = [:]
    /// The pauses that a log line has named and whose end none has named yet.
    private var announced: Set<BusinessID?> = []

    /// Returns the rule for the next lease; nil while no reply may be leased.
    ///
    /// Called before every lease.
    mutating func next(at now: Timestamp) -> Lease? {
        if let (due, _) = paused.first(where: { $0.value.isDue(at: now) }) {
            return Lease(.probe(of: due), due.map { .business($0) } ?? .everything)
        }
        if paused[nil] != nil { return nil }
        return Lease(.any(excludingBusinesses: Set(paused.keys.compactMap(\.self))), nil)
    }

    /// The time of the next check if no attempt ends and no reply is added before; nil when none is needed.
    var nextLook: Timestamp? {
        (paused.values.filter { !$0.isProbing }.map(\.probeAt) + [nextReport].compactMap(\.self)).min()
    }

    /// Records that a reply was leased for this probe; does nothing without a probe.
    mutating func begin(_ probe: Probe?) {
        if let probe { paused[probe.business]?.isProbing = true }
    }

    /// Records that no reply was available for this probe.
    mutating func foundNothing(for probe: Probe, at now: Timestamp) {
        paused[probe.business]?.backOff(at: now)
    }

    /// Processes the result of an attempt, and returns the actions that follow from it.
    ///
    /// `decision` is nil when no message was sent. With `isOnlyBusiness`, the server has no other business than that
    /// of the attempt.
    mutating func decide(
        _ attempt: Attempt, _ decision: SendDecision?, isOnlyBusiness: Bool, at now: Timestamp
    ) -> [Action] {
        let concernsMessage = record(attempt, decision, at: now)
        var actions: [Action] = concernsMessage ? [.refuse] : []
        // Without a pause, the attempt is no probe, or the pause that it probes has ended.
        if let probe = attempt.probe, paused[probe.business]?.isProbing == true,
            paused[probe.business]?.endsWith(decision, at: now) == true
        {
            paused[probe.business] = nil
            actions.append(
                .resumed(probe.business, isAnnounced: announced.remove(probe.business) != nil))
        }
        if !concernsMessage, let cause = decision?.cause {
            pauseIfNeeded(cause, after: attempt, isOnlyBusiness: isOnlyBusiness, at: now)
        }
        return actions
    }

    /// Records a decision as evidence; returns whether it shows that the gateway refuses this message alone.
    private mutating func record(_ attempt: Attempt, _ decision: SendDecision?, at now: Timestamp) -> Bool {
        var evidence = evidence[attempt.business] ?? Evidence()
        defer { self.evidence[attempt.business] = evidence }
        switch decision {
        // The attempt shows nothing about the gateway: for example, a file was not uploaded.
        case .refused(nil, _), .wait(_, _, isOutage: false), .interrupted, nil: return false
        case .wait:
            evidence.failures.add(attempt.customer)
            failures.add(attempt.business)
            return false
        case .accepted, .refused, .credentialRefused:
            (evidence.failures, failures) = (FailureRun(), FailureRun())
        }
        guard case .credentialRefused(let status, _) = decision else {
            evidence.refusals[attempt.id] = nil
            if case .accepted = decision {
                evidence.acceptance = Acceptance(customer: attempt.customer, begunAt: attempt.begunAt)
                lastAcceptance = max(lastAcceptance ?? attempt.begunAt, attempt.begunAt)
            }
            return false
        }
        if let earlier = evidence.refusals[attempt.id], let acceptance = evidence.acceptance,
            acceptance.customer != attempt.customer, earlier.at <= acceptance.begunAt,
            now <= acceptance.begunAt.advanced(by: Self.evidenceLifetime)
        {
            evidence.refusals[attempt.id] = nil
            return true
        }
        if evidence.refusals[attempt.id] == nil, evidence.refusals.count >= Self.maximumRefusals {
            let oldest = now.advanced(by: .zero - Self.refusalLifetime)
            evidence.refusals = evidence.refusals.filter { $0.value.at > oldest }
            // Without room, the next 401 or 403 of this reply counts as its first.
            guard evidence.refusals.count < Self.maximumRefusals else { return false }
        }
        evidence.refusals[attempt.id] = Refusal(customer: attempt.customer, status: status, at: now)
        return false
    }

    /// Pauses the business of a failed attempt, or everything, when the evidence is sufficient.
    private mutating func pauseIfNeeded(
        _ cause: OutboxPause.Cause, after attempt: Attempt, isOnlyBusiness: Bool, at now: Timestamp
    ) {
        guard paused[nil] == nil else { return }
        let (areBusinessesAffected, isBusinessAffected) =
            switch cause {
            case .refused: (areSeveralBusinessesRefused(at: now), isRefused(attempt.business, at: now))
            case .outage: (failures.isOutage, evidence[attempt.business]?.failures.isOutage == true)
            }
        if areBusinessesAffected || isBusinessAffected && isOnlyBusiness {
            // The probes are of all businesses now.
            announced.subtract(paused.keys)
            paused = [nil: OutboxPause(cause, at: now)]
        } else if isBusinessAffected, paused[attempt.business] == nil {
            paused[attempt.business] = OutboxPause(cause, at: now)
        }
    }

    /// Whether two conversations of a business were refused since its last acceptance, which is older than a
    /// minute.
    private func isRefused(_ business: BusinessID, at now: Timestamp) -> Bool {
        guard let evidence = evidence[business],
            let start = Self.start(after: evidence.acceptance?.begunAt, at: now)
        else { return false }
        return Set(evidence.refusals(after: start).map(\.customer)).count >= 2
    }

    /// Whether replies of two businesses were refused since the last acceptance, which is older than a minute.
    private func areSeveralBusinessesRefused(at now: Timestamp) -> Bool {
        guard let start = Self.start(after: lastAcceptance, at: now) else { return false }
        return evidence.values.lazy.filter { !$0.refusals(after: start).isEmpty }.prefix(2).count == 2
    }

    /// Returns the time after which refusals count; nil when an acceptance is so recent that none count.
    private static func start(after acceptance: Timestamp?, at now: Timestamp) -> Timestamp? {
        let oldest = now.advanced(by: .zero - refusalLifetime)
        guard let acceptance else { return oldest }
        return acceptance.advanced(by: evidenceLifetime) < now ? max(oldest, acceptance) : nil
    }
}

extension GatewayHealth {
    /// A pause of sending that is in effect.
    struct Report: Sendable, Equatable {
        /// The paused business; nil when sending is paused for all businesses.
        let business: BusinessID?
        let cause: OutboxPause.Cause
        let since: Timestamp
        /// Whether it is known what the gateway refuses; always true for an outage.
        let isExplained: Bool
    }

    /// All pauses in effect; a pause of all businesses is the only one.
    var pauses: [Report] {
        paused.sorted { ($0.key?.rawValue ?? "") < ($1.key?.rawValue ?? "") }.map { report($0.key, $0.value) }
    }

    private func report(_ business: BusinessID?, _ pause: OutboxPause) -> Report {
        Report(
            business: business, cause: pause.cause, since: pause.since,
            isExplained: business.map { isExplained(pause, of: $0) } ?? true)
    }

    /// Whether another business was accepted while this one is refused, so that the credential is valid.
    private func isExplained(_ pause: OutboxPause, of business: BusinessID) -> Bool {
        guard case .refused = pause.cause else { return true }
        return evidence.contains { other, evidence in
            other != business
                && evidence.acceptance.map { $0.begunAt.advanced(by: Self.evidenceLifetime) > pause.since }
                    == true
        }
    }

    /// The replies that were refused lately without a pause, and for a cause that is not known yet.
    func unexplained(at now: Timestamp) -> UnexplainedRefusals? {
        guard paused[nil] == nil else { return nil }
        let oldest = now.advanced(by: .zero - Self.refusalLifetime)
        let refusals = evidence.filter { paused[$0.key] == nil }
            .flatMap { $0.value.refusals(after: oldest) }
        return refusals.max { $0.at < $1.at }.map {
            UnexplainedRefusals(count: refusals.count, status: $0.status)
        }
    }

    /// Returns the pauses that are due for a log line, and marks them as reported.
    ///
    /// A business, and everything, is due once a minute, also when sending was resumed meanwhile.
    mutating func reports(at now: Timestamp) -> [Report] {
        let due = pauses.filter { nextReport(of: $0) <= now }
        for report in due {
            reportedAt[report.business] = now
            announced.insert(report.business)
        }
        return due
    }

    private func nextReport(of pause: Report) -> Timestamp {
        reportedAt[pause.business]?.advanced(by: OutboxPause.reportInterval) ?? pause.since
    }

    private var nextReport: Timestamp? { pauses.map(nextReport).min() }
}
