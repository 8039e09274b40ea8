import BalloonPOSIX
import Dispatch
import Logging
import Synchronization

/// Pauses deliveries after a failed disk write, because each delivery would fail as well and log an error.
///
/// Deliveries resume automatically. After a failed journal write, the journal tests the disk. After a failed
/// write to a conversation, one delivery at a time is leased as a test until a line is written.
final class DiskCircuitBreaker: Sendable {
    private let scheduler: DeliveryScheduler
    private let probeInterval: Duration
    private let logger: Logger
    private let timers = DispatchQueue(label: "balloon.gate")
    /// Whether a probe is scheduled; `holds` changes under the same lock.
    private let isProbing = Mutex(false)
    /// How many pauses because of failed conversation writes have ended.
    private let resumptions = Atomic<UInt64>(0)
    /// The reasons to pause; atomic for callers that must not wait for the lock.
    private let holds = Atomic<UInt8>(0)

    init(_ scheduler: DeliveryScheduler, probeInterval: Duration, logger: Logger) {
        self.scheduler = scheduler
        self.probeInterval = probeInterval
        self.logger = logger
    }

    /// Whether deliveries are paused.
    var isHolding: Bool { holds.load(ordering: .relaxed) != 0 }

    /// Records the result of a journal batch; called on the journal's queue.
    func record(_ result: Journal.BatchResult) {
        switch result {
        case .durable: release(.journal)
        case .failed(let error): hold(.journal, error)
        }
    }

    /// How many pauses because of failed conversation writes have ended.
    ///
    /// A caller reads this number before it writes a line, and passes it to ``recordFailure(_:since:)``.
    var resumptionCount: UInt64 { resumptions.load(ordering: .relaxed) }

    /// Ends a pause because of failed conversation writes, since a line was written.
    func recordWrite() { release(.conversations) }

    /// Pauses deliveries, because a conversation line could not be written; ignores an error of one file
    /// alone.
    ///
    /// `count` is ``resumptionCount`` from before the write. When a pause has ended since then, another write
    /// has succeeded. The failure is ignored then, because it does not show that the disk fails now.
    func recordFailure(_ error: any Error, since count: UInt64) {
        guard case StoreError.unavailable(_, let reason) = error, reason.isDiskWide else { return }
        hold(.conversations, error, since: count)
    }

    /// Whether another server may have taken the store.
    var isInDoubt: Bool { holds.load(ordering: .relaxed) & ReadyConversations.Holds.ownership.rawValue != 0 }

    /// Pauses deliveries while another server may have taken the store.
    func record(isOwner: Bool) {
        if isOwner { release(.ownership) } else { hold(.ownership, SystemError.notKept) }
    }

    private func hold(_ reason: ReadyConversations.Holds, _ error: any Error, since count: UInt64? = nil) {
        let isFirst = isProbing.withLock { isProbing in
            if let count, count != resumptionCount { return false }
            if reason == .conversations, !isProbing {
                isProbing = true
                probeLater()
            }
            let before = holds.bitwiseOr(reason.rawValue, ordering: .relaxed).oldValue
            return before & reason.rawValue == 0 && scheduler.hold(reason)
        }
        guard isFirst else { return }
        if reason == .ownership {
            logger.error("deliveries paused until the store's database answers")
        } else {
            logger.error("disk write failed; deliveries paused", metadata: ["error": "\(error)"])
        }
    }

    private func release(_ reason: ReadyConversations.Holds) {
        if holds.load(ordering: .relaxed) & reason.rawValue == 0 { return }
        let wasLast = isProbing.withLock { _ in
            let before = holds.bitwiseAnd(~reason.rawValue, ordering: .relaxed).oldValue
            guard before & reason.rawValue != 0 else { return false }
            if reason == .conversations { resumptions.add(1, ordering: .relaxed) }
            return scheduler.release(reason)
        }
        guard wasLast else { return }
        logger.notice(
            reason == .ownership
                ? "deliveries resumed; the store's database answers"
                : "disk writes succeed again; deliveries resumed")
    }

    private func probeLater() {
        timers.asyncAfter(deadline: .now() + probeInterval.dispatchInterval) { [weak self] in self?.probe() }
    }

    private func probe() {
        isProbing.withLock { isProbing in
            isProbing = scheduler.probe()
            if isProbing { probeLater() }
        }
    }
}
