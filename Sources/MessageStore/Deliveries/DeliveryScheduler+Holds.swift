import BalloonPOSIX
import Dispatch
import Synchronization

/// The reasons to lease no delivery for a while: failing disk writes, and suspects of a crash, which run alone.
extension DeliveryScheduler {
    /// Pauses all deliveries until those that were leased when the last process crashed have run, one at a
    /// time, after the messages that were recorded then.
    ///
    /// The pause ends early when no suspect has run for `suspectPatience`, because their handlers are not ready.
    func holdForSuspects(_ count: Int, recording: Bool) {
        if recording { _ = ready.withLock { $0.hold(.recording) } }
        guard count > 0 else { return }
        ready.withLock { $0.holdForSuspects(count) }
        watchSuspects(remaining: count)
    }

    private func watchSuspects(remaining: Int) {
        timers.asyncAfter(deadline: .now() + suspectPatience.dispatchInterval) { [weak self] in
            guard let self else { return }
            let (trial, count) = self.ready.withLock { ($0.trial, $0.suspectCount) }
            guard count > 0 else { return }
            if trial == .runs || count < remaining { return self.watchSuspects(remaining: count) }
            self.handOver(self.ready.withLock { $0.releaseSuspects() })
        }
    }

    /// Whether a suspect is leased while all other deliveries wait.
    var isTrying: Bool { ready.withLock { $0.trial != .none } }

    /// Records that the leased suspect waits for its handler, or waits no longer; false when it does not run alone.
    func setTrialWaiting(_ isWaiting: Bool) -> Bool { ready.withLock { $0.setTrialWaiting(isWaiting) } }

    /// Ends the lease of a suspect that did not crash the process.
    func clear(_ delivery: PendingDelivery, of key: ConversationKey) {
        guard delivery.isSuspect else { return }
        let (hasRun, handovers) = ready.withLock { $0.endTrial() }
        if hasRun { update(delivery.record, of: key) { $0.isSuspect = false } }
        handOver(handovers)
    }

    /// The reasons why no delivery is leased at the moment; empty when deliveries are leased.
    var holds: ReadyConversations.Holds { ready.withLock { $0.holds } }

    /// Pauses all leases for this reason; returns whether they were not paused before.
    func hold(_ reason: ReadyConversations.Holds) -> Bool { ready.withLock { $0.hold(reason) } }

    /// Removes a reason; returns whether it was the last.
    func release(_ reason: ReadyConversations.Holds) -> Bool {
        let (handovers, isFree) = ready.withLock { ready in
            let wasHeld = !ready.holds.isEmpty
            return (ready.release(reason), wasHeld && ready.holds.isEmpty)
        }
        handOver(handovers)
        return isFree
    }

    /// Leases one delivery while conversation writes fail; returns whether they still do.
    func probe() -> Bool {
        let (handover, isHeld) = ready.withLock { ($0.probe(), $0.holds.contains(.conversations)) }
        handOver(handover)
        return isHeld
    }
}
