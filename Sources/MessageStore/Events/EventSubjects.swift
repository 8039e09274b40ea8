import BusinessMessages

/// Finds the conversation of an unfinished message by the message's record number.
///
/// Most journal records refer to a message only by this number.
struct EventSubjects: Sendable {
    private struct Subject {
        let conversation: ConversationKey
        var kind: Kind?
        /// The number of decided replies that have not ended.
        var replies = 0
        /// Whether the message's delivery has ended, or never existed.
        var isFinished = false
    }

    private var subjects: [UInt64: Subject] = [:]

    /// The number of messages.
    var count: Int { subjects.count }

    /// Adds a message that began before the first record that is read.
    mutating func insert(
        _ record: UInt64, in conversation: ConversationKey, kind: Kind? = nil, replies: Int = 0,
        isFinished: Bool = false
    ) {
        if subjects[record] == nil {
            subjects[record] = Subject(conversation: conversation, kind: kind)
        }
        subjects[record]?.replies += replies
        if isFinished { subjects[record]?.isFinished = true }
    }

    /// Adds the messages of an earlier segment that had not ended there, and never removes them.
    ///
    /// Not all of their later records are read, so their end may not be seen.
    mutating func keep(_ earlier: EventSubjects) {
        for (record, subject) in earlier.subjects {
            keep(record, in: subject.conversation, kind: subject.kind)
        }
    }

    /// Adds a message that is never removed, because not all of its records are applied.
    mutating func keep(_ record: UInt64, in conversation: ConversationKey, kind: Kind? = nil) {
        guard subjects[record] == nil else { return }
        insert(record, in: conversation, kind: kind, replies: .max / 2)
    }

    /// Returns the conversation of a message, and the message's kind if that is known.
    func conversation(of record: UInt64) -> (key: ConversationKey, kind: Kind?)? {
        subjects[record].map { ($0.conversation, $0.kind) }
    }

    mutating func setKind(_ kind: Kind, of record: UInt64) { subjects[record]?.kind = kind }

    /// Applies a record; returns the conversation to which it belongs, or nil when that is not known.
    mutating func apply(_ record: EventRecord, number: UInt64) -> (key: ConversationKey, kind: Kind?)? {
        let about = record.subject.flatMap { conversation(of: $0) } ?? record.conversation.map { ($0, nil) }
        switch record {
        case .message(let key, _, let outboundKind, _, _, _):
            insert(
                number, in: key, kind: outboundKind, replies: outboundKind == nil ? 0 : 1,
                isFinished: outboundKind != nil)
        case .outcome(let of, _, let replies, _): subjects[of]?.replies += replies.count
        case .reply(let of, _, let reported):
            if let reported { insert(number, in: reported) }
            change(of) { $0.replies -= 1 }
        case .finished(let of, _, _, _, _): change(of) { $0.isFinished = true }
        case .parked, .assignment: break
        }
        return about
    }

    private mutating func change(_ record: UInt64, _ body: (inout Subject) -> Void) {
        guard let index = subjects.index(forKey: record) else { return }
        body(&subjects.values[index])
        let subject = subjects.values[index]
        if subject.isFinished, subject.replies <= 0 { subjects.remove(at: index) }
    }
}
