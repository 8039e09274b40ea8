import BalloonPOSIX
import MessageStore

extension StoreError {
    /// The reaction to an error of the store about a delivery or a reply.
    enum Disposition: Equatable {
        /// All deliveries and replies fail until the disk is repaired: retry without counting an attempt.
        case retryLater
        /// The error may be transient: retry a few times without counting an attempt, then count one.
        case retryBriefly(reason: String)
        /// The error concerns this delivery or reply only: count an attempt, so that it does not block its conversation
        /// forever.
        case countAttempt(reason: String)
        /// The delivery was ended without its handler: nothing is left to do.
        case ended
        /// An error in this program: log it, and leave the rest to a restart.
        case restart(reason: String)
        /// The store is closed.
        case stop
    }

    /// The reaction to this error.
    var disposition: Disposition {
        switch self {
        case .notDurable, .overloaded, .tooManyPending, .quotaReached, .tooManyRequests: .retryLater
        case .unavailable(_, let error) where error.isDiskWide: .retryLater
        case .unavailable(_, let error) where error.mayPass: .retryBriefly(reason: "\(self)")
        case .unavailable: .countAttempt(reason: "\(self)")
        // The damaged file contains a handler's state, which cannot be rebuilt; the reason names the file.
        case .damaged: .countAttempt(reason: "\(self)")
        case .quarantined, .quarantinedConversation: .countAttempt(reason: "the conversation is damaged")
        case .notLeased: .ended
        case .inUse, .unknownVersion, .noData, .alreadyDecided, .unknownReply, .beingSent,
            .alreadyResolved, .unknownRecord, .notFinished, .notReplayable, .notDead, .replyNotDead,
            .notPending, .changed, .assignment, .backupRunning, .filesChanging, .ledgerMissing, .otherLedger,
            .restoreUnfinished, .copyOfDatabase:
            .restart(reason: "\(self)")
        case .closed: .stop
        }
    }

    /// Whether the same call may succeed later; until then, all other calls fail too.
    var isTransient: Bool { disposition == .retryLater }
}
