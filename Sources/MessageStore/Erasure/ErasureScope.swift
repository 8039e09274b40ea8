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

    /// The path of the file below the folder of all conversations.
    var path: String { business + "/" + ConversationPath.file(of: customer) }
}

extension ErasedConversation {
    init(_ key: ConversationKey) {
        self.init(business: ConversationPath.business(key.business), customer: key.customer)
    }
}

/// The extent of an erasure: conversations, their records up to a number, and the contents that these name.
///
/// A later record is erased too if it is about an erased one, such as a handler's answer to an erased message.
struct ErasureScope: Sendable {
    /// The journal's last record when the erasure began.
    let through: UInt64
    /// The later records that are about erased ones.
    private(set) var later: Set<UInt64>
    let conversations: Set<ErasedConversation>
    /// The time up to which the lines of payments are removed; nil when all of them stay.
    let paymentsThrough: Timestamp?
    private let customers: Set<CustomerID>
    /// The customers' identifiers as bytes, as they are and as a JSON text has them, which are searched for in texts.
    private let needles: [[UInt8]]
    /// The record numbers of the messages and reply failures of the conversations.
    private(set) var subjects: Set<UInt64>
    /// The SHA-256 of each content that the conversations' lines name.
    private(set) var contents: Set<String>

    init(
        _ conversations: Set<ErasedConversation>, through: UInt64, later: Set<UInt64> = [],
        subjects: Set<UInt64> = [], contents: Set<String> = [], paymentsThrough: Timestamp? = nil
    ) {
        self.conversations = conversations
        self.through = through
        self.later = later
        self.subjects = subjects
        self.contents = contents
        self.paymentsThrough = paymentsThrough
        customers = Set(conversations.map(\.customer))
        needles = customers.flatMap { customer in
            var writer = JSONWriter(reservingCapacity: 64)
            writer.string(customer.rawValue)
            let escaped = Array(writer.finish().dropFirst().dropLast())
            return Array(Set([Array(customer.rawValue.utf8), escaped]))
        }
    }

    /// Returns whether the text contains the identifier of one of the customers.
    func isMentioned(in text: ArraySlice<UInt8>) -> Bool {
        needles.contains { text.firstPosition(of: $0) != nil }
    }

    /// Returns whether the record with this number is erased, if it belongs to one of the conversations.
    func erases(_ record: UInt64) -> Bool { record <= through || later.contains(record) }

    /// Returns whether an assignment of one of the conversations, stored in this record, is erased.
    ///
    /// A claim or a copy keeps the reason and the note of the hand-off with which it began, so that it is
    /// erased with the hand-off.
    func erases(_ assignment: Assignment, record: UInt64) -> Bool {
        let origins = [assignment.record, assignment.began?.record ?? 0]
        return erases(record) || origins.contains { $0 > 0 && erases($0) }
    }

    /// Returns whether the customer has one of the conversations.
    func isOf(_ customer: CustomerID) -> Bool { customers.contains(customer) }

    func holds(_ key: ConversationKey) -> Bool {
        customers.contains(key.customer) && conversations.contains(ErasedConversation(key))
    }

    /// Returns whether a record of the journal belongs to one of the conversations.
    func holds(_ record: JournalRecord, number: UInt64) -> Bool {
        // A replay is a copy of its original message, so it is erased with that message.
        if let message = record.changes, subjects.contains(message) { return true }
        guard let key = record.conversation, holds(key) else { return false }
        return erases(number) || subjects.contains(number)
            || record.assignment.map { erases($0.assignment, record: number) } ?? false
    }

    /// Whether a handler sent this message to one of the customers without an event.
    ///
    /// A later one may repeat what the customer wrote, because its handler may have had an erased event.
    private func isSentByHandler(_ record: JournalRecord) -> Bool {
        record.message.map { $0.author == .handler && holds($0.conversation) } ?? false
    }

    /// Adds the messages and contents that a journal record names, if the record belongs to a conversation.
    mutating func take(_ record: JournalRecord, number: UInt64, in line: ArraySlice<UInt8>) {
        guard holds(record, number: number) || isSentByHandler(record) else { return }
        if number > through { later.insert(number) }
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

/// The file `DATA/erasing`.
///
/// The file exists from before the first change until after the last one. After a crash, the next start of
/// the store therefore completes the erasure.
///
/// `{"format":1,"through":57,"paymentsThrough":"…","conversations":[{"business":"…","customer":"…"}],`
/// `"records":[12],"later":[59],"contents":["…"]}`
///
/// A file of an earlier release has no `later`.
extension ErasureScope {
    /// Parses a file's content; nil when it is damaged or of another version.
    init?(_ bytes: [UInt8]) {
        guard let root = (try? JSONDocument(bytes, limits: .journal))?.root, root["format"]?.int == 1,
            let through = root["through"]?.int.flatMap(UInt64.init(exactly:)),
            let conversations = root["conversations"]?.elements, root["records"] != nil,
            let contents = root["contents"]?.elements
        else { return nil }
        let keys = conversations.compactMap { value -> ErasedConversation? in
            guard let business = value["business"]?.string, let customer = value["customer"]?.string else {
                return nil
            }
            return ErasedConversation(business: business, customer: CustomerID(customer))
        }
        guard keys.count == conversations.count else { return nil }
        func records(_ name: String) -> Set<UInt64> {
            Set(root[name]?.elements.compactMap { $0.int.flatMap(UInt64.init(exactly:)) } ?? [])
        }
        self.init(
            Set(keys), through: through, later: records("later"), subjects: records("records"),
            contents: Set(contents.compactMap(\.string)), paymentsThrough: root.timestamp("paymentsThrough"))
    }

    /// The content of the file.
    var bytes: [UInt8] {
        let keys: [JSONObject] = conversations.map {
            ["business": $0.business, "customer": $0.customer.rawValue]
        }
        let object: JSONObject = [
            "format": 1, "through": Int(clamping: through), "paymentsThrough": paymentsThrough?.rfc3339,
            "conversations": keys, "records": subjects.map { Int(clamping: $0) },
            "later": later.map { Int(clamping: $0) }, "contents": Array(contents),
        ]
        return JSONWriter.object(object) + [UInt8(ascii: "\n")]
    }
}
