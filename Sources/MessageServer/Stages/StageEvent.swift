package import BusinessMessages

/// What one stage of the data path did with one message; log, metrics and inspector read only this.
///
/// Facts, never text of a customer, tokens or keys.
package struct StageEvent: Sendable {
    /// A stage of the data path, in its order; the table in Architecture.md lists the same, which `scripts/pages` compares.
    package enum Stage: String, Sendable, CaseIterable {
        /// Accept, read and parse the HTTP request.
        case read
        /// Check the bearer token.
        case authenticate
        /// Take the gzip coding off.
        case inflate
        /// Read who wrote to whom.
        case envelope
        /// Make the message durable, once.
        case journal
        /// Fetch the payload behind a reference.
        case resolve
        /// Make a typed event of the message.
        case decode
        /// Write the conversation's line.
        case record
        /// Fetch the files that came with the message.
        case fetch
        /// Find the business's handler.
        case route
        /// Ask the handler.
        case handle
        /// End the delivery.
        case finish
        /// Send a reply.
        case reply
    }

    /// How a stage ended.
    package enum Result: Sendable, Hashable {
        /// As it should.
        case done
        /// The message was there already; nothing more is done with it.
        case duplicate
        /// A sender's fault: the status that it was told and the reason, a constant.
        case refused(status: Int, reason: String)
        /// Our fault, or that of something we depend on; the reason is a constant or a system error.
        case failed(reason: String)
        /// To be tried again after so many milliseconds; the reason as for `failed`.
        case postponed(milliseconds: Int, reason: String)
        /// Released without counting an attempt; the reason as for `failed`.
        case released(reason: String)
        /// An end that is neither: `unhandled`, `rejected`, `handedOff`; for `decode`, why a message has too many parts to be
        /// read: `unrecognized: 101 attachments; at most 100 are read`.
        case ended(String)
    }

    /// The stage.
    package let stage: Stage
    /// How it ended.
    package var result: Result
    /// How long it took, in nanoseconds; for `journal`, from the request's last byte to the durable record.
    package var nanoseconds: UInt64
    /// Ties a refusal's answer to its log line.
    package var reference: String?
    /// The business, once it is known.
    package var business: BusinessID?
    /// The message's id, once it is known; for `reply`, the reply's.
    package var message: MessageID?
    /// The delivery, which is the message's record number in the journal.
    package var delivery: UInt64?
    /// The kind, once it is known.
    package var kind: Kind?
    /// Which attempt of the delivery this was.
    package var attempt: Int?
}

/// Watches the stages of every message; called wherever the stage runs, so it must be quick and must not block.
package protocol StageObserver: Sendable {
    /// Receives `event`.
    func observe(_ event: StageEvent)
}
