package import BalloonPOSIX
package import BusinessMessages

extension Store {
    /// The conditions that a conversation must meet to be in a list.
    package struct ConversationQuery: Sendable {
        /// The business.
        package var business: BusinessID
        /// The only wanted customers; nil for all.
        package var only: [CustomerID]?
        /// The customers whose conversations are left out; there should be few.
        package var excluding: [CustomerID] = []
        /// The kind of the last line; nil for any kind.
        package var kind: Kind?
        /// The earliest time of the last line; nil for any time.
        package var since: Timestamp?
        /// The time before which the last line must have been written; nil for any time.
        package var until: Timestamp?
        /// The position before which the list continues; nil for the first page.
        package var position: ConversationPosition?
        /// The maximum number of conversations.
        package var limit = 50

        /// Creates a query for every conversation of a business.
        package init(of business: BusinessID) { self.business = business }
    }

    /// A place in a list of conversations, which stays valid when conversations are added or get lines.
    package typealias ConversationPosition = IndexEntry.Position

    /// A part of a list of conversations, or of the results of a search, latest first.
    package struct ConversationPage: Sendable {
        /// The conversations.
        package var conversations: [IndexEntry]
        /// The position before which the list continues; nil at its end.
        package var next: ConversationPosition?
        /// The number of the business's conversations that lists omit, because their last line is unreadable.
        ///
        /// A search adds those that it could search only in part or not at all.
        package var unreadable: Int
        /// The number of conversations that a search has read; nil for a list.
        package var searched: Int?
    }

    /// Whether lists of conversations are available.
    package typealias IndexPhase = IndexedConversations.Phase

    /// Whether lists of conversations are available; never waits for the disk.
    package var indexPhase: IndexPhase { index.phase }

    /// Starts or stops keeping the index of conversations.
    ///
    /// Returns at once: the index is built in the background.
    package func keepIndex(_ isKept: Bool) {
        if isKept {
            index.turnOn(checkpoint: journalState.withState(\.ledger.checkpoint))
        } else {
            index.turnOff()
        }
    }

    /// The time of the last line of all conversations of a business; nil without one, and until the index is ready.
    package func lastLine(of business: BusinessID) -> Timestamp? {
        var query = ConversationQuery(of: business)
        query.limit = 1
        return conversations(query)?.conversations.first.map { Timestamp(milliseconds: $0.milliseconds) }
    }

    /// Returns a page of the conversations of a business, latest first; reads no file.
    ///
    /// A page compares a limited number of entries with the filter. It may therefore have fewer conversations
    /// than its limit although another page follows. Nil until the index is ready.
    package func conversations(_ query: ConversationQuery) -> ConversationPage? {
        guard index.phase == .ready else { return nil }
        let folder = ConversationPath.business(query.business)
        let filter = ConversationIndex.Filter(
            excluded: Set(query.excluding.map { ConversationDigest(of: $0).first }), kind: query.kind,
            since: query.since, until: query.until)
        func page(of index: ConversationIndex, budget: Int) -> ConversationIndex.Page {
            index.page(of: folder, filter, before: query.position, limit: query.limit, budget: budget)
        }
        let page =
            if let only = query.only {
                page(of: index(of: only, in: folder, filter), budget: .max)
            } else {
                index.withIndex { page(of: $0, budget: Self.maximumExamined) }
            }
        return ConversationPage(
            conversations: page.entries, next: page.next, unreadable: index.unreadableCount(of: folder))
    }

    /// Returns an index of those of these customers that meet the filter.
    ///
    /// It is copied in steps, because each written line needs the lock of the store's index.
    private func index(
        of customers: [CustomerID], in folder: String, _ filter: ConversationIndex.Filter
    ) -> ConversationIndex {
        var copy = ConversationIndex()
        guard let number = copy.number(of: folder) else { return copy }
        for start in stride(from: 0, to: customers.count, by: Self.customersOfStep) {
            let names = customers[start..<min(start + Self.customersOfStep, customers.count)].map {
                ConversationName(ConversationDigest(of: $0), in: folder)
            }
            for entry in index.withIndex({ index in names.compactMap(index.entry) }) where filter.wants(entry)
            {
                copy.restore(entry.numbered(number))
            }
        }
        return copy
    }

    private static let customersOfStep = 1024

    /// The maximum number of entries that a page compares with its filter; that takes about 2 ms.
    private static let maximumExamined = 20_000
}
