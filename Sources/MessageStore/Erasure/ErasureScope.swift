import BalloonJSON
import BalloonPOSIX
package import BusinessMessages

/// A conversation to erase: the folder of its business, and its customer.
///
/// The folder's name identifies the business, because a conversation's file may lack the business's
/// identifier.
package struct ErasedConversation: Hashable, Sendable {
    /// The name of the business's folder in the data directory.
    package let business: String
    /// The customer.
    package let customer: CustomerID

    init(business: String, customer: CustomerID) {
        self.business = business
        self.customer = customer
    }

    init(_ key: ConversationKey) {
        self.init(business: ConversationPath.business(key.business), customer: key.customer)
    }

    /// The path of the file below the folder of all conversations.
    var path: String { business + "/" + ConversationPath.file(of: customer) }
}

/// The extent of an erasure: conversations, their records up to a number, and the contents that these name.
struct ErasureScope: Sendable {
    /// The last record to erase.
    let through: UInt64
    let conversations: Set<ErasedConversation>
    private let customers: Set<CustomerID>
    /// The customers' identifiers as bytes, which are searched for in texts.
    private let needles: [[UInt8]]
    /// The record numbers of the messages and reply failures of the conversations.
    private(set) var subjects: Set<UInt64>
    /// The SHA-256 of each content that the conversations' lines name.
    private(set) var contents: Set<String>

    init(
        _ conversations: Set<ErasedConversation>, through: UInt64, subjects: Set<UInt64> = [],
        contents: Set<String> = []
    ) {
        self.conversations = conversations
        self.through = through
        self.subjects = subjects
        self.contents = contents
        customers = Set(conversations.map(\.customer))
        needles = customers.map { Array($0.rawValue.utf8) }
    }

    /// Returns whether the text contains the identifier of one of the customers.
    func isMentioned(in text: ArraySlice<UInt8>) -> Bool {
        needles.contains { text.firstPosition(of: $0) != nil }
    }

    func holds(_ key: ConversationKey) -> Bool {
        customers.contains(key.customer) && conversations.contains(ErasedConversation(key))
    }

    /// Returns whether the members `business` and `customer` of an object name one of the conversations.
    func holds(_ root: JSONValue) -> Bool {
        guard let business = root["business"]?.string, let customer = root["customer"]?.string else {
            return false
        }
        return holds(ConversationKey(business: BusinessID(business), customer: CustomerID(customer)))
    }

    /// Returns whether a record of the journal belongs to one of the conversations.
    func holds(_ record: JournalRecord, number: UInt64, in line: ArraySlice<UInt8>) -> Bool {
        if let subject = record.subject, subjects.contains(subject) { return true }
        switch record {
        case .message(let message):
            // A replay is a copy of its original message, so it is erased with that message.
            if let original = message.replayOf, subjects.contains(original) { return true }
            return number <= through && holds(message.conversation)
        case .assignment(let assigned): return number <= through && holds(assigned.conversation)
        case .reply(let reply):
            return number <= through && reply.reportedIn.map { holds($0) } ?? false
        case .carried, .other:
            guard number <= through, isMentioned(in: line) else { return false }
            // The line's checksum is correct, so it is JSON unless another program wrote it.
            return (try? JSONDocument(Array(line), limits: .journal)).map { holds($0.root) } ?? false
        case .resolved, .outcome, .replyAttempt, .files, .attempt, .finished, .dropped, .checkpoint,
            .unsynced, .segment, .erased:
            return false
        }
    }

    /// Adds the messages and contents that a journal record names, if the record belongs to a conversation.
    mutating func take(_ record: JournalRecord, number: UInt64, in line: ArraySlice<UInt8>) {
        guard holds(record, number: number, in: line) else { return }
        if record.beginsEvent { subjects.insert(number) }
        if let subject = record.subject { subjects.insert(subject) }
        if record.hasText { contents.formUnion(ContentReferences.hashes(in: line)) }
    }

    /// Adds the messages and contents that the lines of one of the conversations name.
    mutating func takeConversation(_ text: [UInt8]) {
        for piece in text.split(separator: UInt8(ascii: "\n")) {
            guard let line = ConversationLine(Array(piece)), line.record <= through else { continue }
            subjects.insert(line.record)
            contents.formUnion(ContentReferences.hashes(in: piece))
        }
    }
}
