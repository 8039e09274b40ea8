import BusinessMessages

/// Derives the expected conversation lines from the journal's records, read in order.
struct LineFold {
    private var open: [UInt64: JournalState.Message] = [:]

    /// Applies a record; returns the line that it completes.
    mutating func apply(_ record: LocatedRecord) -> JournalledLine? {
        let number = record.number
        if let begun = JournalState.Message(begunBy: record) { open[number] = begun }
        guard let subject = record.record.subject, let index = open.index(forKey: subject) else { return nil }
        open.values[index].state.apply(record)
        let message = open.values[index]
        if message.state.isDelivered, !message.state.hasQueuedReply { open.remove(at: index) }
        if message.state.end == number { return message.inboundLine }
        return message.state.replies.firstIndex { $0.end?.record == number }.flatMap(message.line)
    }

    /// The unfinished message with this record; nil for any other message.
    subscript(record: UInt64) -> JournalState.Message? { open[record] }

    /// The conversations of the unfinished messages.
    var conversations: [UInt64: ConversationKey] { open.mapValues(\.conversation) }

    /// The lines of unfinished messages that are known so far; the files may lack them.
    var openLines: [JournalledLine] {
        open.values.sorted { $0.state.record < $1.state.record }.flatMap(\.lines)
    }
}

/// A conversation line that the journal contains.
struct JournalledLine: Sendable {
    let conversation: ConversationKey
    let state: MessageState
    /// The reply's index; nil for the line of the message itself.
    let reply: Int?

    /// The line of the message that this reply answers; nil without one, and for a line that is not a reply.
    var answered: JournalledLine? {
        reply == nil ? nil : JournalledLine(ofMessage: state, in: conversation)
    }

    /// Returns the line and the line of results, if any; empty when the message was never recorded.
    func entries(from reader: SegmentReader) throws(StoreError) -> [ConversationEntry] {
        guard let reply else { return try inboundEntries(from: reader) }
        let journalled = try JournalReply(state, index: reply, from: reader)
        guard let result = state.replies[reply].result, let end = state.replies[reply].end else { return [] }
        return [
            ConversationEntry(
                conversation: conversation, record: state.record, at: end.at, id: journalled.messageID,
                kind: journalled.kind, message: journalled.message, result: result, author: journalled.author)
        ]
    }

    private func inboundEntries(from reader: SegmentReader) throws(StoreError) -> [ConversationEntry] {
        guard let kind = state.kind else { return [] }
        return try MessageRecords(state, from: reader)
            .inboundEntries(of: conversation, record: state.record, kind: kind, repeating: state.original)
    }
}

extension JournalledLine {
    /// Creates the line of a message; nil for a replay, a proactive message and a message of unknown kind.
    ///
    /// The message that a replay repeats has a line already.
    init?(ofMessage state: MessageState, in conversation: ConversationKey) {
        guard state.replayOf == nil, state.outboundKind == nil, state.kind != nil else { return nil }
        self.init(conversation: conversation, state: state, reply: nil)
    }
}

extension MessageRecords {
    /// The line of the message itself and its line of results.
    func inboundEntries(
        of conversation: ConversationKey, record: UInt64, kind: Kind, repeating original: MessageID?
    ) -> [ConversationEntry] {
        var entry = ConversationEntry(
            conversation: conversation, record: record, at: receivedAt, id: id, kind: kind, message: message,
            author: act == .internal ? author : nil, repeats: original,
            capabilities: attributes.capabilityList, isInternal: act == .internal)
        guard let files else { return [entry] }
        guard let filesLineAt else {
            entry.files = files
            return [entry]
        }
        return [
            entry,
            ConversationEntry(
                conversation: conversation, record: record, at: filesLineAt, id: id, kind: kind, message: [],
                files: files, signIn: signIn, payment: payment, isFilesOnly: true),
        ]
    }
}

extension JournalState.Message {
    /// The message's own line; nil for a replay, a proactive message and a message of unknown kind.
    var inboundLine: JournalledLine? { JournalledLine(ofMessage: state, in: conversation) }

    /// The line of a reply that has ended; nil while the reply is queued, and for an unknown reply.
    func line(ofReply index: Int) -> JournalledLine? {
        guard state.replies.indices.contains(index), state.replies[index].end != nil else { return nil }
        return JournalledLine(conversation: conversation, state: state, reply: index)
    }

    /// All lines that are known so far, which the conversation must have.
    var lines: [JournalledLine] {
        (inboundLine.map { [$0] } ?? []) + state.replies.indices.compactMap(line)
    }
}
