import BalloonPOSIX
import BusinessMessages
import Dispatch
import Synchronization

/// Pauses all leases while disk writes fail, and while the suspects of a crash run alone.
///
/// A suspect is a message that may have crashed the last process, because it was leased or recorded at that time.
/// A suspect that waits for its handler, or for an answer from outside this process, does not run: the next
/// suspect runs meanwhile.
extension DeliveryScheduler {
    /// Pauses all deliveries until the suspects among `leases` have run, one at a time.
    ///
    /// Messages that were recorded when the last process crashed are recorded first, one at a time. The pause
    /// ends after `suspectPatience` at the latest; `released` then gets the suspect that runs at that time,
    /// which is no longer alone.
    func holdForSuspects(among leases: [Lease], released: @escaping @Sendable (UInt64) -> Void) {
        if leases.contains(where: \.pending.isRecordingSuspect) {
            _ = ready.withLock { $0.hold(.recording) }
        }
        let suspects = leases.filter(\.pending.isSuspect).map {
            ($0.pending.record, $0.conversation.business)
        }
        if suspects.isEmpty { return }
        ready.withLock { $0.holdForSuspects(Dictionary(suspects) { first, _ in first }) }
        timers.asyncAfter(deadline: .now() + suspectPatience.dispatchInterval) { [weak self] in
            guard let self else { return }
            let (running, handovers) = self.ready.withLock { $0.releaseSuspects() }
            if let running { released(running) }
            self.handOver(handovers)
        }
    }

    /// Whether the delivery with this record is a suspect that runs while all other deliveries wait.
    func isAlone(_ record: UInt64) -> Bool { ready.withLock { $0.isAlone(record) } }

    /// Lets the next suspect run while the one with this record waits; returns whether it ran alone.
    ///
    /// A suspect that waits for something outside this process holds no other delivery back any more.
    /// `suspended` is called before another delivery runs.
    func suspend(_ record: UInt64, isOutside: Bool, suspended: () -> Void) {
        let (wasAlone, handovers) = ready.withLock { $0.suspend(record, isOutside: isOutside) }
        if wasAlone { suspended() }
        handOver(handovers)
    }

    /// Waits until a suspect may continue; returns whether it then runs alone.
    func resume(_ record: UInt64) async -> Bool {
        await withCheckedContinuation { continuation in
            let turn = SuspectTurn(record: record, continuation: continuation)
            handOver(ready.withLock { $0.resume(turn) })
        }
    }

    /// Ends the turn of a suspect that is no longer leased.
    func endTurn(of record: UInt64) { handOver(ready.withLock { $0.clear(record) }) }

    /// Lets no suspect of a business that is not served hold deliveries back.
    func keepSuspects(of isServed: (BusinessID) -> Bool) {
        handOver(ready.withLock { $0.keepSuspects(of: isServed) })
    }

    /// Clears the suspicion of a delivery that has run alone without a crash; does nothing for other
    /// deliveries.
    func clear(_ delivery: PendingDelivery, of key: ConversationKey) {
        guard delivery.isSuspect else { return }
        let (hasRun, handovers) = ready.withLock { $0.endTrial(of: delivery.record) }
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
