package import BalloonPOSIX
package import BusinessMessages

extension Store {
    /// The conditions that a customer's message must meet to be in a list of deliveries.
    package struct DeliveryQuery: Sendable {
        /// The wanted statuses.
        package enum Statuses: Hashable, Sendable {
            case all
            /// Only messages with this status.
            case only(JournalEvent.Status)
            /// Dead letters, which wait for an operator's decision.
            case dead

            /// Whether every message with a wanted status is a dead letter.
            fileprivate var areDead: Bool {
                switch self {
                case .all: false
                case .only(let status): status.isDeadLetter
                case .dead: true
                }
            }
        }

        /// The business.
        package var business: BusinessID
        /// The wanted statuses.
        package var statuses = Statuses.all
        /// The wanted kind; nil for any kind.
        package var kind: Kind?
        /// The wanted conversation, by the name of its file; nil for all conversations.
        package var conversation: ConversationDigest?
        /// The earliest wanted time of arrival; nil for any time.
        package var since: Timestamp?
        /// The record before which the list continues; nil for the first page.
        package var before: UInt64?
        /// The maximum number of messages.
        package var limit = 50

        /// Creates a query for every message of a business.
        package init(of business: BusinessID) { self.business = business }
    }

    /// A part of a list of deliveries, latest first.
    package struct DeliveryPage: Sendable {
        /// The messages.
        package let events: [JournalEvent]
        /// The record before which the list continues; nil at its end.
        package let next: UInt64?
    }

    /// The result of a search for one delivery.
    package enum DeliveryLookup: Sendable {
        /// The delivery and its replies.
        case found(Trace)
        /// The business has no such delivery.
        case unknown
        /// The journal was not read back to the record within the limits; a repeated call continues to read.
        case unread
    }

    /// Returns a page of the deliveries of a business in the journal, newest first.
    ///
    /// Reads at most 64 MiB of the journal or for 250 ms, but at least one segment. A page may therefore have
    /// fewer messages than its limit, or none, although another page follows. Of a segment that was read
    /// before, only the appended part is read.
    package func deliveries(_ query: DeliveryQuery) async throws -> DeliveryPage {
        let wanted = query.statuses.areDead ? deadLetters(of: query.business).filter { $0.reply == nil } : nil
        return try await readingIndex { index throws(StoreError) in
            var states: [MessageState] = []
            let next = try index.walk(
                of: wanted?.map(\.record).sorted(), before: query.before ?? .max, since: query.since,
                budget: ReadBudget()
            ) { event throws(StoreError) in
                guard query.wants(event) else { return true }
                states.append(event.state)
                return states.count < query.limit
            }
            var events: [JournalEvent] = []
            for state in states {
                // The result is nil when the segment was deleted after the walk.
                let event = try readingKept { () throws(StoreError) in
                    try JournalEvent(state, from: index.reader)
                }
                if let event, query.wants(event) { events.append(event) }
            }
            return DeliveryPage(events: events, next: next)
        }
    }

    /// Returns the delivery of a business with this record, and its replies; has the same limits as a page.
    package func delivery(_ record: UInt64, of business: BusinessID) async throws -> DeliveryLookup {
        let (trace, isUnread) = try await trace(of: record, isBounded: true)
        guard let trace, trace.event.business == business, trace.event.isDelivery else {
            return isUnread ? .unread : .unknown
        }
        return .found(trace)
    }

    /// Returns why a reply to the message with this record, or that message itself, was not accepted.
    ///
    /// Nil when the journal no longer has it, or cannot be read back to it in time.
    package func reasonOfReply(
        _ id: MessageID, to record: UInt64, of business: BusinessID
    ) async throws -> String? {
        let (trace, _) = try await trace(of: record, isBounded: true)
        guard let trace, trace.event.business == business else { return nil }
        return trace.replies.last { $0.messageID == id }?.reason
    }

    /// Returns the message with this record and its replies; nil when the walk did not find it.
    ///
    /// `isUnread` says whether the walk ended because the budget was used up.
    func trace(
        of record: UInt64, isBounded: Bool = false
    ) async throws -> (trace: Trace?, isUnread: Bool) {
        try await readingIndex { index throws(StoreError) in
            var trace: Trace?
            let next = try index.walk(of: [record], downTo: record, budget: isBounded ? ReadBudget() : nil) {
                event throws(StoreError) in
                let state = event.state
                if state.isOfRepliesOnly { return true }
                trace = try readingKept { () throws(StoreError) in
                    var replies: [JournalReply] = []
                    for place in state.replies.indices where !state.isPlaceholder(place) {
                        replies.append(try JournalReply(state, index: place, from: index.reader))
                    }
                    return Trace(event: try JournalEvent(state, from: index.reader), replies: replies)
                }
                return false
            }
            return (trace, trace == nil && next.map { $0 > record } ?? false)
        }
    }

    /// Runs `body` with the index on its queue, when all records that were appended before are in the files.
    func readingIndex<Result: Sendable>(
        _ body: @escaping @Sendable (DeliveryIndex) throws(StoreError) -> Result
    ) async throws -> Result {
        await journal.flush()
        return try await deliveryIndex.run(body)
    }

    /// Returns the number of a business's deliveries and replies that wait for a decision; reads no file.
    package func deadLetterCount(of business: BusinessID) -> Int {
        journalState.withState { $0.ledger.deadLetterCounts[business] ?? 0 }
    }

    /// The dead letters of a business, in no order.
    func deadLetters(of business: BusinessID) -> [DeadLetter] {
        journalState.withState { $0.ledger.deadLetters.filter { $0.value.business == business }.map(\.key) }
    }
}

/// Runs `body`; returns nil when the segment that it reads has been deleted.
func readingKept<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result? {
    do throws(StoreError) { return try body() } catch {
        if case .unavailable(_, let reason) = error, reason.isMissing { return nil }
        throw error
    }
}

extension Store.DeliveryQuery {
    /// Returns whether a message is wanted by its state; a copied message is checked again after it is read.
    fileprivate func wants(_ event: JournalState.Message) -> Bool {
        let state = event.state
        guard state.outboundKind == nil, state.act != .internal, !state.isReplyFailure, !state.isOfRepliesOnly
        else { return false }
        guard event.conversation.business == business, since.map({ event.at >= $0 }) ?? true else {
            return false
        }
        if let conversation {
            guard event.conversation.digest == conversation.first,
                ConversationDigest(of: event.conversation.customer) == conversation
            else { return false }
        }
        if state.isCarried { return true }
        return wants(state.status) && (kind == nil || kind == state.kind)
    }

    fileprivate func wants(_ event: JournalEvent) -> Bool {
        event.isDelivery && wants(event.status) && (kind == nil || kind == event.kind)
    }

    private func wants(_ status: JournalEvent.Status) -> Bool {
        switch statuses {
        case .all: true
        case .only(let wanted): status == wanted
        case .dead: status.isDeadLetter
        }
    }
}

extension JournalEvent {
    /// Whether the event is a customer's message.
    fileprivate var isDelivery: Bool { outboundKind == nil && !isReplyFailure && !isInternal }
}
