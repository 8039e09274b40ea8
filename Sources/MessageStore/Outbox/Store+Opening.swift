import BalloonPOSIX
package import BusinessMessages

/// The server's own messages at the start of a conversation.
extension Store {
    /// The number of a conversation's last lines in which its start is searched, and their maximum bytes.
    private static let maximumOpeningLines = 50
    private static let maximumOpeningBytes = 64 << 10

    /// Stores messages of the server that answer a customer's message before its handler does.
    ///
    /// Nothing is stored when the outcome of that message is decided, or when the conversation is with a person or
    /// waits for one: the order of the journal decides. All messages must be of the same conversation.
    package func answerBeforeHandler(_ record: UInt64, with messages: [ReceivedMessage]) {
        guard let first = messages.first else { return }
        let key = first.conversation
        journalState.run(key) { [self] table, _ in
            let isUndecided = scheduler.withQueues(of: key) { $0.isUndecided(record, of: key) }
            if !table.isWithPerson(record, of: key), isUndecided {
                // After an error of the disk, only the handler answers.
                for message in messages {
                    deduplicator.append(message, to: journal, isPrompt: true) { _ in }
                }
            }
            return .done {}
        }
    }

    /// Returns the new conversation in which no automatic message was sent or queued yet, and the record of the
    /// message that began it; nil for any other conversation.
    ///
    /// `delivery` is the message that is being answered, if any. Reads the conversation's file.
    package func unopenedConversation(
        of business: BusinessID, _ customer: CustomerID, answering delivery: Delivery? = nil,
        silence: Duration
    ) throws -> (record: UInt64, begins: NewConversation)? {
        // Read the queue before the lines: a reply gets its line before it leaves the queue.
        let queued = queuedReplies(of: business, customer)
        let key = ConversationKey(business: business, customer: customer)
        let lines = try recentLines(
            of: business, customer, maximum: Self.maximumOpeningLines, maximumBytes: Self.maximumOpeningBytes)
        var found = delivery.flatMap { delivery in delivery.begins.map { (delivery.record, $0) } }
        var contact = Contact()
        if let first = lines.first, first.sequence > 1 { contact.at = first.at }
        for line in lines {
            if line.mayBegin(of: business), line.repeats == nil {
                let begins =
                    line.record == delivery?.record
                    ? delivery?.begins
                    : contact.next(
                        at: line.at, isReopened: isReopened(by: line.record, key), silence: silence)
                if let begins { found = (line.record, begins) }
            } else if line.isDelivered, !line.kind.isTyping, line.author?.isPerson != true,
                line.record >= found?.0 ?? 0
            {
                // The answer to an earlier message may have its line behind that of this one.
                found = nil
            }
            contact.apply(line, of: business)
        }
        guard let (record, begins) = found else { return nil }
        let isAnswered = queued.contains {
            $0.id.record >= record && !$0.isFromPerson && !$0.reply.kind.isTyping
        }
        return isAnswered ? nil : (record, begins)
    }

    /// Whether the message is the customer's first one after the business closed the conversation.
    func isReopened(by record: UInt64, _ key: ConversationKey) -> Bool {
        journalState.withAssignments { $0.isReopened(by: record, of: key) }
    }
}
