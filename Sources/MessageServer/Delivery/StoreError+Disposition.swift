import BalloonPOSIX
import MessageStore

extension StoreError {
    /// What is done about a delivery, or a reply, that the store failed.
    enum Disposition: Equatable {
        /// Every other one fails as well until the disk is well again: retry without counting an attempt.
        case retryLater
        /// The error may be gone in a moment: retry a few times without counting an attempt, then count one.
        case retryBriefly(reason: String)
        /// The error is about this one: count an attempt, so that it does not hold up its conversation for ever.
        case countAttempt(reason: String)
        /// A mistake in this program: leave it to a restart, and say so.
        case restart(reason: String)
        /// The store is closed.
        case stop
    }

    /// What is done about it.
    var disposition: Disposition {
        switch self {
        case .notDurable, .overloaded, .tooManyPending, .quotaReached: .retryLater
        case .unavailable(_, let error) where error.isDiskWide: .retryLater
        case .unavailable(_, let error) where error.mayPass: .retryBriefly(reason: "\(self)")
        case .unavailable: .countAttempt(reason: "\(self)")
        // The file of a handler's state, which is not rebuilt: its reason names it.
        case .damaged: .countAttempt(reason: "\(self)")
        case .quarantined, .quarantinedConversation: .countAttempt(reason: "its conversation is damaged")
        case .inUse, .unknownVersion, .noData, .notLeased, .alreadyDecided, .unknownReply, .beingSent,
            .alreadyResolved, .unknownRecord, .notFinished, .notReplayable, .notDead, .notPending, .changed:
            .restart(reason: "\(self)")
        case .closed: .stop
        }
    }

    /// Whether the same call may succeed later, and every other one fails as well until then.
    var isTransient: Bool { disposition == .retryLater }
}
