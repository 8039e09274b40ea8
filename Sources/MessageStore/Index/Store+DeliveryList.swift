package import BalloonPOSIX
package import BusinessMessages

extension Store {
    /// The messages that a list of deliveries wants.
    package struct DeliveryQuery: Sendable {
        /// The wanted statuses.
        package enum Statuses: Hashable, Sendable {
            case all
            /// Only this one.
            case only(JournalEvent.Status)
            /// Dead letters, which wait for an operator's decision.
            case dead
        }

        /// The business.
        package var business: BusinessID
        /// The wanted statuses.
        package var statuses = Statuses.all
        /// The kind.
        package var kind: Kind?
        /// The name of the conversation's file.
        package var conversation: ConversationDigest?
        /// The earliest arrival.
        package var since: Timestamp?
        /// The record before which the list continues; nil for the first page.
        package var before: UInt64?
        /// The maximum number of messages.
        package var limit = 50

        /// Wants every message of a business.
        package init(of business: BusinessID) { self.business = business }
    }

    /// A part of a list of deliveries, latest first.
    package struct DeliveryPage: Sendable {
        /// The messages.
        package let events: [JournalEvent]
        /// The record before which the list continues; nil at its end.
        package let next: UInt64?
    }

    /// A page of a business's messages in the journal, newest first.
    ///
    /// Reads at most 64 MiB of the journal, or for 250 ms, and at least one segment: a page may have fewer messages than its
    /// limit, or none, and nevertheless a next one. Segments that were read before are read only where they have grown.
    package func deliveries(_ query: DeliveryQuery) async throws -> DeliveryPage {
        // A record may still be on its way to the file.
        await journal.flush()
        let (index, reader) = (deliveryIndex, reader)
        return try await index.onQueue { () throws(StoreError) in
            var states: [MessageState] = []
            let next = try index.walk(
                before: query.before ?? .max, since: query.since, budget: DeliveryIndex.Budget()
            ) { event throws(StoreError) in
                guard query.wants(event) else { return true }
                states.append(event.state)
                return states.count < query.limit
            }
            var events: [JournalEvent] = []
            for state in states {
                // Nil when the segment was deleted meanwhile.
                guard let event = try JournalEvent(reading: state, from: reader), query.wants(event) else {
                    continue
                }
                events.append(event)
            }
            return DeliveryPage(events: events, next: next)
        }
    }

    /// The messages of these records, in order; one that is no message is omitted.
    ///
    /// Reads the journal from its end to the earliest of them, and of segments that were read before only the appended part.
    package func deliveries(of records: [UInt64]) async throws -> [JournalEvent] {
        guard let earliest = records.min() else { return [] }
        await journal.flush()
        let (index, reader) = (deliveryIndex, reader)
        return try await index.onQueue { () throws(StoreError) in
            var found: [UInt64: JournalEvent] = [:]
            let wanted = Set(records)
            _ = try index.walk(downTo: earliest) { event throws(StoreError) in
                guard wanted.contains(event.state.record) else { return true }
                found[event.state.record] = try JournalEvent(reading: event.state, from: reader)
                return found.count < wanted.count
            }
            return records.compactMap { found[$0] }
        }
    }
}

extension Store.DeliveryQuery {
    /// Whether a message is wanted, as far as the journal's records say; a carried one has more facts in its text.
    fileprivate func wants(_ event: SegmentEvents.Event) -> Bool {
        let state = event.state
        guard event.conversation.business == business, since.map({ event.at >= $0 }) ?? true else {
            return false
        }
        if let conversation {
            guard event.conversation.digest == conversation.first,
                ConversationDigest(of: event.conversation.customer) == conversation
            else { return false }
        }
        if state.isCarried { return true }
        return wants(state.listedStatus) && (kind == nil || kind == state.kind)
    }

    fileprivate func wants(_ event: JournalEvent) -> Bool {
        wants(event.status) && (kind == nil || kind == event.kind)
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
    /// Reads the message of a state; nil when its segment was deleted meanwhile.
    fileprivate init?(reading state: MessageState, from reader: SegmentReader) throws(StoreError) {
        do throws(StoreError) { try self.init(state, from: reader) } catch {
            if case .unavailable(_, let reason) = error, reason.isMissing { return nil }
            throw error
        }
    }
}
