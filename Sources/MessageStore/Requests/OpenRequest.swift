package import BalloonPOSIX
package import BusinessMessages

/// A request for an action of the customer outside Messages: a sign-in at a provider, or a payment.
///
/// ```
///   waiting ──gateway accepted──> open ──callback──> consumed ──> recorded ──> confirmed ──Apple's event──> released
///                                   └────────── too late ───────────┴──────────────┴────> expired
/// ```
/// No callback consumes a payment. It is open until Apple's event, its `deadline`, or an end that its payload
/// tells. It then keeps its payload, which has no secret by then, for a day. It is not removed while
/// `isBusy`.
///
/// A sign-in of version 1 has no callback. Apple's event itself consumes the request, with `begin(by:at:)`, and
/// `end(with:by:)` releases it.
///
/// The mutating functions only change the value; ``OpenRequests`` makes the result durable, and compares what an
/// event or a callback says with a ``RequestClaim``. All times are those that the caller passes in.
package struct OpenRequest: Hashable, Sendable {
    /// The purpose of a request.
    package enum Kind: String, Sendable {
        /// The customer signs in at a provider with version 2, which has a callback.
        case signIn
        /// The customer signs in with version 1, whose event has the provider's token.
        case classicSignIn
        /// The customer pays.
        case payment
    }

    /// The progress of a request.
    package enum Phase: String, Sendable {
        /// The message is queued, and the request's time limit has not begun.
        case waiting
        /// The gateway accepted the message: the customer may sign in or pay.
        case open
        /// The callback arrived; only this process may exchange its code, and only once.
        case consumed
        /// The result is on disk, and the customer has not confirmed the sign-in yet.
        case recorded
        /// The result is on disk, and Apple's event releases it.
        case confirmed
        /// Apple's event arrived.
        case released
        /// A time limit passed, or the event's delivery ended; the request no longer has a secret or a result.
        case expired

        /// Whether the request counts towards the limits for each customer and each business.
        var isOpen: Bool {
            switch self {
            case .waiting, .open, .consumed, .recorded, .confirmed: true
            case .released, .expired: false
            }
        }
    }

    /// The meaning of Apple's event for a request.
    package enum Release: Hashable, Sendable {
        /// The event belongs to the request; the result is nil when no callback delivered one.
        case result([UInt8]?)
        /// The event repeats the given event, which arrived before.
        case repetition(of: MessageID)
        /// A time limit passed before the event, or the event's result was removed after its delivery.
        case expired
    }

    /// The answer to Apple's event of a sign-in of version 1.
    package enum Begin: Hashable, Sendable {
        /// The event belongs to the request; the payload has the key to decrypt the event's token.
        case payload([UInt8])
        /// The event gets no payload; the value is its meaning.
        case ended(Release)
    }

    /// The purpose.
    package let kind: Kind
    /// The business.
    package let business: BusinessID
    /// The customer to whom the message was sent.
    package let customer: CustomerID
    /// The `requestIdentifier` of the message; Apple's event has the same one.
    package let requestIdentifier: String
    /// The identity of the reply with which the message is or was sent.
    package let entry: ReplyID
    /// The time at which the request was written first.
    package let begunAt: Timestamp
    /// The maximum time from the gateway's acceptance to the callback.
    package let stateLifetime: Duration
    /// The maximum time from the callback to Apple's event.
    package let releaseLifetime: Duration
    /// The progress.
    package internal(set) var phase = Phase.waiting
    /// The time at which the current time limit began.
    package internal(set) var since: Timestamp
    /// The secrets that the request needs, a JSON value; nil once the callback has consumed the request.
    package internal(set) var payload: [UInt8]?
    /// The result, a JSON value; nil before it is recorded and after it expired.
    package internal(set) var result: [UInt8]?
    /// The SHA-256 of the value that the confirm page sends, in hexadecimal.
    package internal(set) var confirmation: String?
    /// Apple's first event for the request.
    package internal(set) var releasedBy: MessageID?
    /// The time limit of an accepted payment; nil for a sign-in, which has ``stateLifetime``.
    package internal(set) var deadline: Timestamp?
    /// Whether a charge of a payment may have to be reversed.
    package internal(set) var isBusy = false
    /// Whether the customer was erased: the store removes the request as soon as it is not busy.
    package internal(set) var isErased = false
    /// Whether an erasure of the customer, if any, keeps the lines of payments.
    package internal(set) var keepsRecords = true

    /// How long a message may wait for the gateway; longer than the outbox keeps one.
    private static let waitingLifetime = Duration.seconds(96 * 3600)
    /// How long an ended request is kept.
    ///
    /// A delivery that has not ended may still need a released request. A later event is compared with the
    /// first one, and is too late when there was none.
    private static let endedLifetime = Duration.seconds(24 * 3600)
    /// The last millisecond of the year 9999.
    private static let never = Timestamp(milliseconds: 253_402_300_799_999)

    /// Creates a request whose message is queued.
    package init(
        _ kind: Kind, business: BusinessID, customer: CustomerID, requestIdentifier: String, entry: ReplyID,
        payload: [UInt8], stateLifetime: Duration, releaseLifetime: Duration, at now: Timestamp
    ) {
        self.kind = kind
        self.business = business
        self.customer = customer
        self.requestIdentifier = requestIdentifier
        self.entry = entry
        self.payload = payload
        self.stateLifetime = stateLifetime
        self.releaseLifetime = releaseLifetime
        begunAt = now
        since = now
    }

    /// The time at which the current time limit ends.
    package var until: Timestamp {
        switch phase {
        case _ where isBusy: Self.never
        case .waiting: since.advanced(by: Self.waitingLifetime)
        case .open: deadline ?? since.advanced(by: stateLifetime)
        case .consumed where releasedBy != nil: since.advanced(by: Self.endedLifetime)
        case .consumed, .recorded, .confirmed: since.advanced(by: releaseLifetime)
        case .released, .expired: since.advanced(by: Self.endedLifetime)
        }
    }

    /// Whether the current time limit has passed.
    package func isLate(at now: Timestamp) -> Bool { now >= until }

    /// Begins the time limit of a request whose message the gateway accepted; a second call changes nothing.
    package mutating func accept(at now: Timestamp) {
        guard phase == .waiting else { return }
        (phase, since) = (.open, now)
    }

    /// Consumes the request for its callback; returns true only once, and only within the time limit.
    ///
    /// The customer may act before the gateway has answered, so a waiting request can be consumed too.
    package mutating func consume(at now: Timestamp) -> Bool {
        guard phase == .waiting || phase == .open, !isLate(at: now) else { return false }
        (phase, since, payload) = (.consumed, now, nil)
        return true
    }

    /// Records the result of the callback; returns false when the time limit has passed.
    ///
    /// With a `confirmation`, the customer must still confirm the sign-in.
    package mutating func record(_ result: [UInt8], confirmation: String?, at now: Timestamp) -> Bool {
        guard phase == .consumed, !isLate(at: now) else { return false }
        phase = confirmation == nil ? .confirmed : .recorded
        self.result = result
        self.confirmation = confirmation
        return true
    }

    /// Confirms the result; returns true only the first time.
    package mutating func confirm(_ confirmation: String, at now: Timestamp) -> Bool {
        guard phase == .recorded, self.confirmation == confirmation, !isLate(at: now) else { return false }
        (phase, self.confirmation) = (.confirmed, nil)
        return true
    }

    /// Releases the result to Apple's event; a retried delivery of the same event gets the same result again.
    ///
    /// The first event decides: every other event of this request repeats it, whatever it reports.
    package mutating func release(by event: MessageID, at now: Timestamp) -> Release {
        if let releasedBy, releasedBy != event { return .repetition(of: releasedBy) }
        switch phase {
        case .released where !isLate(at: now): return .result(result)
        case .consumed where releasedBy != nil: return .result(nil)
        case .waiting, .open, .consumed, .recorded, .confirmed:
            guard phase == .waiting || !isLate(at: now) else { break }
            // Without a confirmed result, remove the result and the payload, so that no later callback uses
            // the request.
            if phase != .confirmed { result = nil }
            (phase, since, payload, confirmation, releasedBy) = (.released, now, nil, nil, event)
            return .result(result)
        case .released, .expired: break
        }
        if phase != .expired { expire(at: now) }
        releasedBy = event
        return .expired
    }

    /// Removes the result of the event that released the request, and the secrets that are left; the event's
    /// identity stays for a day.
    ///
    /// A replay of the event is ``Release/expired`` then, and another event still is a repetition of it.
    package mutating func forgetResult(of event: MessageID, at now: Timestamp) {
        guard kind != .payment, releasedBy == event, phase != .expired else { return }
        expire(at: now)
    }

    /// Consumes the request of a sign-in of version 1 for Apple's event.
    ///
    /// A retried delivery of the same event gets the payload again, until `end(with:by:)` is called.
    package mutating func begin(by event: MessageID, at now: Timestamp) -> Begin {
        if phase == .consumed, releasedBy == event, let payload { return .payload(payload) }
        guard phase == .waiting || phase == .open, phase == .waiting || !isLate(at: now), let payload else {
            return .ended(release(by: event, at: now))
        }
        (phase, since, releasedBy) = (.consumed, now, event)
        return .payload(payload)
    }

    /// Removes the payload, and releases the result to the event that consumed the request.
    package mutating func end(with result: [UInt8], by event: MessageID) {
        guard phase == .consumed, releasedBy == event else { return }
        (phase, payload, self.result) = (.released, nil, result)
    }

    /// Sets the payload of a payment, the end of its open phase, and whether it must not be removed.
    package mutating func set(payload: [UInt8], deadline: Timestamp?, isBusy: Bool) {
        (self.payload, self.deadline, self.isBusy) = (payload, deadline, isBusy)
    }

    /// Ends a payment, which keeps its payload for a day; `event` is Apple's event if that ended it.
    ///
    /// A call for a payment that has ended changes nothing.
    package mutating func endPayment(by event: MessageID?, at now: Timestamp) {
        guard kind == .payment, phase.isOpen else { return }
        (phase, since, releasedBy) = (.released, now, event)
    }

    /// Marks a busy payment whose customer was erased; `keepsRecords` is false if its lines are erased too.
    mutating func erase(keepsRecords: Bool) {
        isErased = true
        self.keepsRecords = self.keepsRecords && keepsRecords
    }

    /// Whether the customer may still use the request.
    package func isUsable(at now: Timestamp) -> Bool {
        (phase == .waiting || phase == .open) && !isLate(at: now)
    }

    /// Ends a request whose time limit has passed, and removes its secrets and its result.
    ///
    /// An accepted payment keeps its payload, which has no secret.
    package mutating func expire(at now: Timestamp) {
        if kind != .payment || phase == .waiting { payload = nil }
        (phase, since, result, confirmation) = (.expired, now, nil, nil)
    }
}
