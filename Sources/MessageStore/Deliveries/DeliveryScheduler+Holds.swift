import BalloonPOSIX
import Dispatch
import Synchronization

/// Pauses all leases while disk writes fail, and while the suspects of a crash run alone.
///
/// A suspect is a message that may have crashed the last process, because it was leased or recorded at that time.
extension DeliveryScheduler {
    /// Pauses all deliveries until the suspects have run, one at a time.
    ///
    /// There are `count` suspects: deliveries that were leased when the last process crashed. With
    /// `recording`, messages that were recorded at that time are recorded first, one at a time.
    ///
    /// The pause ends early when no suspect has run for `suspectPatience`, because their handlers are not
    /// ready.
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

    /// Records whether the leased suspect waits for its handler; false when no suspect runs alone.
    func setTrialWaiting(_ isWaiting: Bool) -> Bool { ready.withLock { $0.setTrialWaiting(isWaiting) } }

    /// Clears the suspicion of a delivery that has run alone without a crash; does nothing for other
    /// deliveries.
    func clear(_ delivery: PendingDelivery, of key: ConversationKey) {
        guard delivery.isSuspect else { return }
        let (hasRun, handovers) = ready.withLock { $0.endTrial() }
        if hasRun { update(delivery.record, of: key) { $0.isSuspect = false } }
        handOver(handovers)
    }

    /// The reasons why no delivery is leased at the moment; empty when deliveries are leased.
    var holds: ReadyConversations.Holds { ready.withLock { $0.holds } }

    /// Adds a reason to pause all leases; returns false when a failed write already paused them.
    func hold(_ reason: ReadyConversations.Holds) -> Bool { ready.withLock { $0.hold(reason) } }

    /// Removes a reason to pause all leases; returns whether this ended the pause.
    func release(_ reason: ReadyConversations.Holds) -> Bool {
        let (handovers, isFree) = ready.withLock { ready in
            let wasHeld = !ready.holds.isEmpty
            return (ready.release(reason), wasHeld && ready.holds.isEmpty)
        }
        handOver(handovers)
        return isFree
    }

    /// Leases one delivery, to test whether conversations can be written again.
    ///
    /// Returns whether leases are still paused because of failed writes to conversations.
    func probe() -> Bool {
        let (handover, isHeld) = ready.withLock { ($0.probe(), $0.holds.contains(.conversations)) }
        handOver(handover)
        return isHeld
    }
}
