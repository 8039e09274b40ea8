package import BusinessMessages

extension Store {
    /// The conditions that a reply must meet to be in a list of queued and unsent replies.
    package struct ReplyQuery: Sendable {
        /// The business.
        package var business: BusinessID
        /// The only wanted status; nil for queued replies and all dead letters.
        package var status: ReplyState.Status?
        /// The wanted conversation, by the name of its file; nil for all conversations.
        package var conversation: ConversationDigest?
        /// The reply before which the list continues; nil for the first page.
        package var before: ReplyID?
        /// The maximum number of replies.
        package var limit = 50

        /// Creates a query for every queued or unsent reply of a business.
        package init(of business: BusinessID) { self.business = business }
    }

    /// A part of a list of replies; the replies to the latest messages are first.
    package struct ReplyPage: Sendable {
        /// The replies.
        package let replies: [JournalReply]
        /// The reply before which the list continues; nil at its end.
        package let next: ReplyID?
    }

    /// Returns a page of the queued replies and dead letters of a business.
    ///
    /// Replies to the latest messages are first. Their identifiers are in memory, so only the segments of
    /// their messages are read, within the limits of a page of deliveries. A page may therefore have fewer
    /// replies than its limit, or none, although another page follows.
    package func replies(_ query: ReplyQuery) async throws -> ReplyPage {
        let queued = outbox.withQueue(\.all).filter { $0.conversation.business == query.business }.map(\.id)
        let dead = deadLetters(of: query.business).compactMap { letter in
            letter.reply.map { ReplyID(record: letter.record, index: $0) }
        }
        let names = Set(queued + dead)
        let records = Set(names.map(\.record)).sorted()
        return try await readingIndex { index throws(StoreError) in
            var found: [JournalReply] = []
            let end = query.before.map { $0.record == .max ? .max : $0.record + 1 } ?? .max
            let next = try index.walk(of: records, before: end, budget: ReadBudget()) {
                event throws(StoreError) in
                for place in event.state.replies.indices.reversed() {
                    let id = ReplyID(record: event.state.record, index: place)
                    guard names.contains(id), query.before.map({ id < $0 }) ?? true else { continue }
                    let reply = try readingKept { () throws(StoreError) in
                        try JournalReply(event.state, index: place, from: index.reader)
                    }
                    guard let reply, query.wants(reply) else { continue }
                    found.append(reply)
                    if found.count > query.limit { return false }
                }
                return true
            }
            if found.count > query.limit {
                found.removeLast()
                return ReplyPage(replies: found, next: found.last?.id)
            }
            return ReplyPage(replies: found, next: next.map { ReplyID(record: $0, index: 0) })
        }
    }
}

extension Store.ReplyQuery {
    fileprivate func wants(_ reply: JournalReply) -> Bool {
        guard status.map({ reply.status == $0 }) ?? (reply.isDeadLetter || reply.status == .queued) else {
            return false
        }
        return conversation.map { ConversationDigest(of: reply.customer) == $0 } ?? true
    }
}
