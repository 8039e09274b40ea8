public import BusinessMessages
internal import Synchronization

/// The messages of a business and a customer so far, the oldest first.
///
/// The server provides the latest entries only; ``Entry/seq`` of the first entry tells how many are omitted.
public struct Conversation: Sendable {
    /// One message of the conversation.
    public struct Entry: Sendable {
        /// The message's number in the whole conversation: 1, 2, 3, without gaps; nil for a queued reply.
        public let seq: Int?
        /// The time in UTC, `2026-07-10T17:00:00.000Z` (RFC 3339), at which the message was recorded.
        ///
        /// For a queued reply it is the time of the handler's answer.
        public let at: String
        /// The sender: the customer or the business.
        public let direction: Direction
        /// The message's kind.
        public let kind: Kind
        /// The message's identity.
        public let id: MessageID
        /// The state of a business's message: `queued`, `accepted`, `refused`, `expired`, or `dropped`; nil for a
        /// customer's message.
        public let outcome: String?
        /// The message's JSON.
        public let message: JSONValue

        /// Makes an entry.
        public init(
            seq: Int?, at: String, direction: Direction, kind: Kind, id: MessageID, outcome: String? = nil,
            message: JSONValue
        ) {
            self.seq = seq
            self.at = at
            self.direction = direction
            self.kind = kind
            self.id = id
            self.outcome = outcome
            self.message = message
        }
    }

    /// The entries of a conversation, given or read at the first access, and then kept.
    private final class Reading: Sendable {
        private let read: @Sendable () throws -> [Entry]
        private let locate: @Sendable (MessageID) throws -> Int?
        private let result = Mutex<Result<[Entry], any Error>?>(nil)
        private let located = Mutex<Result<Int?, any Error>?>(nil)

        init(
            _ read: @escaping @Sendable () throws -> [Entry],
            _ locate: @escaping @Sendable (MessageID) throws -> Int?
        ) {
            self.read = read
            self.locate = locate
        }

        var failure: (any Error)? {
            if case .failure(let error)? = result.withLock(\.self) { return error }
            if case .failure(let error)? = located.withLock(\.self) { return error }
            return nil
        }

        func seq(of id: MessageID) throws -> Int? {
            let result = Result { try locate(id) }
            located.withLock { $0 = result }
            return try result.get()
        }

        func entries() throws -> [Entry] {
            let result = result.withLock { known in
                let result = known ?? Result { try read() }
                known = result
                return result
            }
            return try result.get()
        }
    }

    private let source: Reading
    /// Whether the event begins the conversation.
    ///
    /// That is the customer's first message, the first one after either side closed the conversation, or the first
    /// one after `newAfterHours` (24) in which neither side wrote.
    public package(set) var isNew = false
    /// The time in UTC of the last message of either side before a new conversation, as
    /// `2026-07-10T17:00:00.000Z`; nil for a customer who never wrote before, and when ``isNew`` is false.
    public package(set) var lastContact: String?
    /// Whether the conversation is new, and its customer wrote before.
    public var isReturning: Bool { isNew && lastContact != nil }

    /// Makes a conversation; one with a `lastContact` is new.
    public init(entries: [Entry] = [], isNew: Bool = false, lastContact: String? = nil) {
        source = Reading({ entries }, { _ in nil })
        self.isNew = isNew || lastContact != nil
        self.lastContact = lastContact
    }

    /// Creates a conversation that reads its entries at the first access.
    ///
    /// `read` is called at most once, and may wait for the disk. `locate` returns the number of a customer's
    /// message that is older than the entries.
    package init(
        reading read: @escaping @Sendable () throws -> [Entry],
        locating locate: @escaping @Sendable (MessageID) throws -> Int? = { _ in nil }
    ) { source = Reading(read, locate) }

    /// The latest messages, the oldest first, followed by the queued replies; empty when they cannot be read.
    ///
    /// A server reads the entries from its disk at the first access, on the caller's thread, so a handler
    /// that does not use them costs no read. If the read fails, the server drops the handler's answer and
    /// delivers the event again. A handler that must not act on an empty history calls ``read()``.
    public var entries: [Entry] { (try? read()) ?? [] }

    /// Returns the same as ``entries``; throws when they cannot be read.
    public func read() throws -> [Entry] {
        try source.entries()
    }

    /// Returns the number of a customer's message; nil when the conversation has no readable record of it.
    func seq(of id: MessageID) -> Int? {
        if let entry = entries.last(where: { $0.direction == .inbound && $0.id == id }) { return entry.seq }
        // Drop the error here: `failure` has it, and the server drops the handler's answer because of it.
        return try? source.seq(of: id)
    }

    /// The error of the first read; nil before that read and after a successful one.
    package var failure: (any Error)? { source.failure }
}
