import BalloonPOSIX
import MessageStore

/// The state of a server at one moment, from which `/readyz` is decided.
struct ReadinessFacts: Sendable {
    /// The phase of a server's life; `draining` begins when a stop begins.
    enum Phase: Sendable {
        case starting, running, draining
    }

    var phase = Phase.running
    let statistics: StoreStatistics
    /// Whether deliveries are paused because a disk write failed.
    var areDeliveriesPaused = false
    /// Whether another server may have taken the store, because its database does not answer.
    var isOwnerInDoubt = false
    /// The error of the journal's last write that failed in the last minute.
    var recentJournalFailure: SystemError?
    /// The records that the journal lost.
    var damage = JournalRepair(
        lostRecords: [], segments: [], heldConversations: 0, isHarmful: false)
    /// The free bytes on the disk; nil when the system does not tell.
    var freeBytes: UInt64?
    var minimumFreeBytes: UInt64 = 0
    var maximumPendingDeliveries = Int.max
    /// The pauses in sending replies; a pause for all businesses is the first.
    var pauses: [GatewayHealth.Report] = []
    /// The replies that the gateway refuses for a cause that is not known yet.
    var unexplainedRefusals: GatewayHealth.UnexplainedRefusals?
    /// The number of handlers that accept no events.
    var handlersDown = 0

    /// Every check, in the order in which `/readyz?verbose` lists them.
    ///
    /// Only the first five can fail. A server that is degraded still accepts messages, because each message waits in the journal
    /// until its problem is solved.
    var checks: [ReadinessCheck] {
        [
            ReadinessCheck("start", phase == .starting ? .failing(reason: "starting") : .ok),
            ReadinessCheck("draining", phase == .draining ? .failing(reason: "draining") : .ok),
            ReadinessCheck("journal", journal),
            ReadinessCheck("disk", disk),
            ReadinessCheck("journal-records", records),
            ReadinessCheck("deliveries", deliveries),
            ReadinessCheck("backlog", backlog),
            Self.conversations(
                "damaged-conversations", statistics.quarantinedConversations,
                "quarantined: run balloon conversations rebuild"),
            Self.conversations(
                "refused-conversations", statistics.refusedConversations,
                "not written: see the log for the reason"),
            ReadinessCheck(
                "checkpoints",
                statistics.checkpointFailure == nil
                    ? .ok : .degraded(reason: "checkpoints fail: see the log for the reason")),
            ReadinessCheck("gateway-credential", credential),
            ReadinessCheck("outbox", outbox),
            ReadinessCheck("handlers", handlers),
        ]
    }

    /// The state of check `journal`: failing while writes fail, and degraded for a minute after a failure.
    ///
    /// After a failure a small write may succeed, for example on a nearly full disk, while larger messages get 503.
    private var journal: ReadinessCheck.State {
        if isDatabaseAway { return .failing(reason: "the store's database does not answer") }
        if statistics.lastSyncFailure != nil { return .failing(reason: "journal writes fail") }
        guard let recentJournalFailure else { return .ok }
        return .degraded(
            reason: recentJournalFailure == .notKept
                ? "the store's database did not answer within the last minute" : Self.recentDiskFailure)
    }

    private var isDatabaseAway: Bool { isOwnerInDoubt || statistics.lastSyncFailure == .notKept }

    private var deliveries: ReadinessCheck.State {
        guard areDeliveriesPaused else { return .ok }
        return .degraded(
            reason: isDatabaseAway
                ? "deliveries are paused until the store's database answers" : Self.pausedDeliveries)
    }

    private var disk: ReadinessCheck.State {
        guard let freeBytes, freeBytes < minimumFreeBytes else { return .ok }
        return .failing(
            reason:
                "\(freeBytes >> 20) MiB are free on the disk, \(minimumFreeBytes >> 20) MiB are required: free space on it"
        )
    }

    private var records: ReadinessCheck.State {
        if damage.isEmpty { return .ok }
        guard damage.isHarmful else {
            return .degraded(reason: "finished journal records are damaged: run balloon journal repair")
        }
        return .failing(reason: "journal records \(damage.recordsText) are lost: run balloon journal repair")
    }

    /// The state of check `backlog`: degraded when more than half of the maximum number of deliveries are
    /// pending.
    ///
    /// At the maximum, new messages get 503.
    private var backlog: ReadinessCheck.State {
        let pending = statistics.pendingDeliveries
        guard pending > maximumPendingDeliveries / 2 else { return .ok }
        return .degraded(
            reason:
                "\(pending) of at most \(maximumPendingDeliveries) deliveries are pending: see balloon status"
        )
    }

    private var credential: ReadinessCheck.State {
        for case .refused(let status, _) in pauses.filter(\.isCredentialRefused).map(\.cause) {
            return .degraded(
                reason:
                    "the gateway refuses the credential with \(status), \(queuedText): check the secret and the clock"
            )
        }
        return .ok
    }

    private var outbox: ReadinessCheck.State {
        let others = pauses.filter { !$0.isCredentialRefused }
        guard let pause = others.first else { return refusals }
        let who =
            if pause.business == nil {
                "no replies"
            } else {
                "no replies of \(others.count == 1 ? "one business" : "\(others.count) businesses")"
            }
        let why =
            switch pause.cause {
            case .refused(let status, _) where pause.isExplained:
                "the gateway refuses with \(status): check its registration with Apple"
            case .refused(let status, _): "the gateway refuses with \(status), cause unknown: see the log"
            case .outage: "the gateway does not answer: see the log"
            }
        return .degraded(reason: "\(who) are sent, \(queuedText): \(why)")
    }

    /// The state of check `outbox` without a pause: degraded while replies are refused for an unknown cause.
    private var refusals: ReadinessCheck.State {
        guard let refusals = unexplainedRefusals else { return .ok }
        let replies = refusals.count == 1 ? "1 reply" : "\(refusals.count) replies"
        return .degraded(
            reason: "the gateway refuses \(replies) with \(refusals.status), cause unknown: see the log")
    }

    private var queuedText: String {
        let count = statistics.queuedReplies
        return count == 1 ? "1 reply waits" : "\(count) replies wait"
    }

    private var handlers: ReadinessCheck.State {
        guard handlersDown > 0 else { return .ok }
        return .degraded(
            reason:
                "\(handlersDown) \(handlersDown == 1 ? "handler is" : "handlers are") down: run balloon handlers list"
        )
    }

    static let recentDiskFailure =
        "journal writes failed within the last minute: free space on the disk or check it"

    static let pausedDeliveries =
        "deliveries are paused because disk writes fail: free space on the disk or check it"

    private static func conversations(_ name: String, _ count: Int, _ what: String) -> ReadinessCheck {
        let are = count == 1 ? "conversation is" : "conversations are"
        return ReadinessCheck(name, count == 0 ? .ok : .degraded(reason: "\(count) \(are) \(what)"))
    }
}
