package import BusinessMessages

/// The result of one stage of the data path for one message.
///
/// Log, metrics and inspector read only these events. An event contains facts, never customer text, tokens or
/// keys.
package struct StageEvent: Sendable {
    /// A stage of the data path, in order; `scripts/pages` compares the cases with the table in
    /// Architecture.md.
    package enum Stage: String, Sendable, CaseIterable {
        /// Accept, read and parse the HTTP request.
        case read
        /// Check the bearer token.
        case authenticate
        /// Decompress a gzip body.
        case inflate
        /// Read the identities of sender and receiver.
        case envelope
        /// Make the message durable, and detect a duplicate.
        case journal
        /// Download the payload behind a reference.
        case resolve
        /// Decode the message to a typed event.
        case decode
        /// Write the message's line to the conversation's file.
        case record
        /// Fetch the files of the message.
        case fetch
        /// Find the business's handler.
        case route
        /// Call the handler.
        case handle
        /// End the delivery.
        case finish
        /// Send a reply.
        case reply
    }

    /// The result of a stage.
    package enum Result: Sendable, Hashable {
        /// Success.
        case done
        /// The message was already stored, and processing stops.
        case duplicate
        /// The sender caused the failure: the status of the answer, and the reason, which is a constant.
        case refused(status: Int, reason: String)
        /// The server or a dependency caused the failure; the reason is a constant or a system error.
        case failed(reason: String)
        /// The step will be retried after this many milliseconds; the reason is as for `failed`.
        case postponed(milliseconds: Int, reason: String)
        /// The delivery or reply was released, and the attempt does not count; the reason is as for `failed`.
        case released(reason: String)
        /// The stage ended without an error, for example with `unhandled`, `handedOff` or `withPerson`.
        ///
        /// For `decode`, the text says why a message has too many parts to be read:
        /// `unrecognized: 101 attachments; at most 100 are read`.
        case ended(String)
    }

    /// The stage.
    package let stage: Stage
    /// The result.
    package var result: Result
    /// The duration in nanoseconds; for `journal`, from the request's last byte to the durable record.
    package var nanoseconds: UInt64
    /// The reference that connects the answer to a refused request to its log line; every stage of the request has it.
    package var reference: String?
    /// The business, once it is known.
    package var business: BusinessID?
    /// The id of the message, once it is known; for the stage `reply`, the id of the reply.
    package var message: MessageID?
    /// For `reply`, the customer's message that it answers; nil for a message that answers none.
    package var inReplyTo: MessageID?
    /// The delivery, which is the message's record number in the journal.
    package var delivery: UInt64?
    /// The kind, once it is known.
    package var kind: Kind?
    /// The number of the attempt.
    package var attempt: Int?
    /// The customer, from the stage `resolve` on, and only for an observer with `wantsDetails`.
    package var customer: CustomerID?
    /// The size of the message or the reply in bytes, under the conditions of ``customer``.
    package var bytes: Int?
    /// The status of the gateway's answer to a reply, under the conditions of ``customer``.
    package var status: Int?
    /// For `handle`, the recorded state of the payment that the message ends.
    package var payment: String?
}

/// Observes the stages of every message; called inline in each stage, so it must be fast and must not block.
package protocol StageObserver: Sendable {
    /// Receives `event`.
    func observe(_ event: StageEvent)
    /// Whether the events have the customer, the bytes and the status; false for an observer that writes a
    /// log.
    var wantsDetails: Bool { get }
}

extension StageObserver {
    /// False: an observer that needs details overrides it.
    package var wantsDetails: Bool { false }
}

extension StageEvent {
    /// Passes the facts of a log line to `add`, sorted by name, without the trace and the duration, which come last.
    ///
    /// Passes nil for a fact that the event does not have.
    func forEachFact(_ add: (_ name: String, _ text: String?) -> Void) {
        let facts = ResultFacts(result)
        add("after_ms", facts.milliseconds.map { String($0) })
        add("attempt", attempt.map { String($0) })
        add("business", business?.rawValue)
        add("delivery", delivery.map { String($0) })
        add("kind", kind?.rawValue)
        add("message", message?.rawValue)
        add("reason", facts.reason)
        add("reference", reference)
        add("result", facts.how)
        add("stage", stage.rawValue)
        add("status", facts.status.map { String($0) })
    }
}

/// The facts of a stage's result, without the name of the result.
struct ResultFacts {
    var milliseconds: Int?
    var reason: String?
    var how: String?
    var status: Int?

    init(_ result: StageEvent.Result) {
        switch result {
        case .done, .duplicate: break
        case .refused(let status, let reason): (self.status, self.reason) = (status, reason)
        case .failed(let reason), .released(let reason): self.reason = reason
        case .postponed(let milliseconds, let reason):
            (self.milliseconds, self.reason) = (milliseconds, reason)
        case .ended(let how): self.how = how
        }
    }
}
