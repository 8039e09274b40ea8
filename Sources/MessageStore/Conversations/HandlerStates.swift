package import BalloonPOSIX
package import BusinessMessages
import Dispatch
import Synchronization

/// The files of conversations beside their lines, with the state of the handler and the ``CustomerDetails``.
///
/// One small JSON file for each conversation that has any:
/// `{"format":1,"decision":57,"state":{…},"customer":{"record":60,"name":"Ana","tags":["vip"]}}`. `decision` is the
/// journal record that decided the state, and `record` that of the last change of the details; an earlier record
/// never replaces a later one. The files are derived from the journal and replaced atomically. A stored file is on
/// disk when the call that stores it returns.
final class HandlerStates: Sendable {
    private let directory: String
    private let queue = DispatchQueue(label: "balloon.states")
    /// Whether any file may exist; without one, reading skips the disk.
    private let hasAny: Atomic<Bool>

    /// The content of one file.
    private struct Content {
        var state: [UInt8]?
        var decision: UInt64 = 0
        var customer = CustomerDetails()
        var customerRecord: UInt64 = 0
    }

    init(directory: String) {
        self.directory = directory
        hasAny = Atomic(Directory.exists(directory))
    }

    /// Returns the state of a conversation, one JSON object; nil when the conversation has none.
    func state(of key: ConversationKey) async throws -> [UInt8]? {
        guard hasAny.load(ordering: .acquiring) else { return nil }
        return try await queue.run { () throws(StoreError) in try self.read(ConversationPath.state(key)).state
        }
    }

    /// Returns the details of the customer; blocks while it reads the file.
    func customer(of key: ConversationKey) throws(StoreError) -> CustomerDetails {
        try customer(at: ConversationPath.state(key))
    }

    /// Returns the details of the customer of the conversation with this name.
    func customer(of name: ConversationName) throws(StoreError) -> CustomerDetails {
        try customer(at: String(name.path.dropLast()))
    }

    private func customer(at path: String) throws(StoreError) -> CustomerDetails {
        // The file is replaced atomically, so that reading needs no turn.
        hasAny.load(ordering: .acquiring) ? try read(path).customer : CustomerDetails()
    }

    /// Stores `state`, unless this or a later decision was stored already; `null` means no state.
    func keep(_ state: [UInt8], decidedBy decision: UInt64, of key: ConversationKey) async throws {
        try await queue.run { () throws(StoreError) in
            var content = try self.read(ConversationPath.state(key))
            guard content.decision < decision else { return }
            (content.state, content.decision) = (state, decision)
            try self.write(content, ConversationPath.state(key))
        }
    }

    /// Applies an ``InternalMessage`` to the details, unless this or a later record was applied already; blocks.
    func apply(_ message: [UInt8], recordedBy record: UInt64, of key: ConversationKey) throws(StoreError) {
        // The journal contains only validated JSON.
        guard let message = (try? JSONDocument(message, limits: .journal))?.root else { return }
        let result = queue.sync {
            Result { () throws(StoreError) in
                var content = try self.read(ConversationPath.state(key))
                let before = content.customer
                guard content.customerRecord < record else { return }
                content.customer.apply(message)
                guard content.customer != before else { return }
                content.customerRecord = record
                try self.write(content, ConversationPath.state(key))
            }
        }
        try result.get()
    }

    /// Removes the file of a conversation without lines, unless the journal still has a record of it.
    ///
    /// That is so for `record` and later ones. Of a customer who wants no more messages this fact stays, without words.
    func remove(_ name: ConversationName, before record: UInt64) async throws {
        guard hasAny.load(ordering: .acquiring) else { return }
        let file = String(name.path.dropLast())
        let path = directory + "/" + file
        try await queue.run { () throws(StoreError) in
            guard let bytes = try DataFiles().read(path) else { return }
            let root = try? JSONDocument(bytes).root
            let last = [root?["decision"], root?["customer"]?["record"]].compactMap { $0?.int }.max()
            guard last.map({ UInt64(clamping: $0) < record }) ?? false else { return }
            let content = try self.read(file)
            if var consent = content.customer.consent, !consent.isGiven {
                consent.words = nil
                var kept = Content(customerRecord: content.customerRecord)
                kept.customer.consent = consent
                return try self.write(kept, file)
            }
            try StoreError.naming(path) { () throws(SystemError) in try Directory.remove(path) }
        }
    }

    /// Runs `change` on the queue of the files, so that none is read or written at the same time.
    func excluding(_ change: @escaping @Sendable () throws(StoreError) -> Void) async throws {
        try await queue.run(change)
    }

    private func read(_ name: String) throws(StoreError) -> Content {
        let path = directory + "/" + name
        guard let bytes = try DataFiles().read(path) else { return Content() }
        // An unreadable state must not be treated as absent: the handler would restart with a customer in the
        // middle of an order.
        guard let root = try? JSONDocument(bytes).root, root["format"]?.int == 1 else {
            throw .damaged(file: path, line: 1)
        }
        func number(_ value: JSONValue?) -> UInt64 { value?.int.map { UInt64(clamping: $0) } ?? 0 }
        let state = root["state"].flatMap { $0.isNull ? nil : Array($0.text) }
        return Content(
            state: state, decision: number(root["decision"]), customer: CustomerDetails(root["customer"]),
            customerRecord: number(root["customer"]?["record"]))
    }

    private func write(_ content: Content, _ name: String) throws(StoreError) {
        let path = directory + "/" + name
        let text = JSONWriter.object(reservingCapacity: (content.state?.count ?? 0) + 256) { writer in
            writer.field("format", 1)
            writer.field("decision", Int(clamping: content.decision))
            writer.raw("state", content.state.map { oneLine($0) } ?? Array("null".utf8))
            guard content.customerRecord > 0 else { return }
            writer.object("customer") { writer in
                writer.field("record", Int(clamping: content.customerRecord))
                content.customer.write(to: &writer)
            }
        }
        try StoreError.naming(path) { () throws(SystemError) in
            try Directory.make(Directory.parent(of: path))
            hasAny.store(true, ordering: .releasing)
            try AtomicFile.write(text + [UInt8(ascii: "\n")], to: path)
        }
    }
}

extension Store {
    /// Returns the handler's state of a conversation, one JSON object; nil when the conversation has none.
    package func state(of business: BusinessID, _ customer: CustomerID) async throws -> [UInt8]? {
        try await states.state(of: ConversationKey(business: business, customer: customer))
    }

    /// Stores the state that a decision contains, if any; an earlier process may have made the decision.
    func remember(
        _ state: [UInt8]?, decidedBy decision: UInt64, in conversation: ConversationKey
    ) async throws {
        guard let state else { return }
        try await states.keep(state, decidedBy: decision, of: conversation)
    }

    /// Returns what is known about the customer of a conversation; blocks while it reads a small file.
    package func details(of business: BusinessID, _ customer: CustomerID) throws -> CustomerDetails {
        try states.customer(of: ConversationKey(business: business, customer: customer))
    }

    /// Records a message for people in a conversation; returns once it is durable, and as a rule when its line is
    /// written too.
    ///
    /// The line has the place of the message in the order of the conversation. A message with an `id` that is known is
    /// a duplicate, and is not recorded again.
    package func record(
        _ message: InternalMessage, by author: MessageAuthor, as id: MessageID = .random(),
        of business: BusinessID, _ customer: CustomerID
    ) async throws {
        let result = await withCheckedContinuation { continuation in
            beginRecording(message, by: author, as: id, of: business, customer) {
                continuation.resume(returning: $0)
            }
        }
        if case .failed(let error) = result { throw error }
        await scheduler.finishRecordings()
    }

    /// Begins to record a message for people as ``record(_:by:as:of:_:)`` does; returns at once.
    package func beginRecording(
        _ message: InternalMessage, by author: MessageAuthor, as id: MessageID, of business: BusinessID,
        _ customer: CustomerID, completion: @escaping AppendCompletion = { _ in }
    ) {
        append(
            ReceivedMessage(
                business: business, customer: customer, id: id, message: message.json(of: business.rawValue),
                author: author, act: .internal, change: message.change),
            completion: completion)
    }

    /// Returns the time of the customer's last message; nil when the last 16 MiB of the conversation have none.
    ///
    /// Reads the conversation's file.
    package func lastMessageTime(of business: BusinessID, _ customer: CustomerID) throws -> Timestamp? {
        let key = ConversationKey(business: business, customer: customer)
        return try conversations.end(of: key)?.lastInboundLine(maximumBytes: Self.maximumSearchedBytes)?.at
    }

    /// Returns the last message of a known person that Apple accepted; nil when the last 16 MiB of the conversation
    /// have none.
    ///
    /// Reads the conversation's file.
    package func lastMessageOfPerson(
        to customer: CustomerID, of business: BusinessID
    ) throws -> ConversationLine? {
        let key = ConversationKey(business: business, customer: customer)
        return try conversations.end(of: key)?.lastLine(
            with: { $0.line(author: .person(nil)) }, maximumBytes: Self.maximumSearchedBytes
        ) { $0.isDelivered && $0.author?.person != nil }
    }

    /// Returns whether Apple accepted a message to the customer that has the text, in the last 16 MiB of the
    /// conversation; reads the conversation's file.
    package func hasSent(_ text: String, to customer: CustomerID, of business: BusinessID) throws -> Bool {
        let search = TextSearch(text)
        let key = ConversationKey(business: business, customer: customer)
        return try conversations.end(of: key)?.hasLine(maximumBytes: Self.maximumSearchedBytes) { line in
            // Without a limit the search is never interrupted.
            guard let found = try? search.match(line) else { return false }
            return found.direction == .outbound && found.outcome == ReplyState.Status.accepted.rawValue
        } ?? false
    }
}
