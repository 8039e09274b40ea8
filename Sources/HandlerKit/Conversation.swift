public import BusinessMessages
internal import Synchronization

/// The messages of a business and a customer so far, the oldest first.
///
/// The server provides the latest entries only; ``Entry/seq`` of the first entry tells how many are omitted.
public struct Conversation: Sendable {
    /// One message.
    public struct Entry: Sendable {
        /// The message's number in the whole conversation: 1, 2, 3, without gaps; nil for a queued reply.
        public let seq: Int?
        /// The time of its recording, or of the decision for a queued reply, in UTC: `2026-07-10T17:00:00.000Z` (RFC
        /// 3339).
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

    private enum Source {
        case entries([Entry])
        case reading(Reading)
    }

    /// Entries that are read once, at the first access.
    private final class Reading: Sendable {
        private let read: @Sendable () throws -> [Entry]
        private let result = Mutex<Result<[Entry], any Error>?>(nil)

        init(_ read: @escaping @Sendable () throws -> [Entry]) { self.read = read }

        var known: Result<[Entry], any Error>? { result.withLock { $0 } }

        func entries() throws -> [Entry] {
            let result = result.withLock { known in
                let result = known ?? Result { try read() }
                known = result
                return result
            }
            return try result.get()
        }
    }

    private let source: Source

    /// Makes a conversation.
    public init(entries: [Entry] = []) { source = .entries(entries) }

    /// Creates a conversation that reads its entries at the first access; `read` is called once, and may wait
    /// for the disk.
    package init(reading read: @escaping @Sendable () throws -> [Entry]) { source = .reading(Reading(read)) }

    /// The latest messages, the oldest first, and behind them the replies that are queued; empty when they cannot be read.
    ///
    /// A server reads them from its disk at the first access, on the caller's thread; an event whose handler
    /// does not use them costs no read. When the read fails, the handler's answer is dropped and the event is
    /// delivered again. A handler that must not act on an empty history calls ``read()``.
    public var entries: [Entry] { (try? read()) ?? [] }

    /// Returns the same as ``entries``; throws when they cannot be read.
    public func read() throws -> [Entry] {
        switch source {
        case .entries(let entries): entries
        case .reading(let reading): try reading.entries()
        }
    }

    /// The error of the read; nil before the first access and after a successful one.
    package var failure: (any Error)? {
        guard case .reading(let reading) = source, case .failure(let error)? = reading.known else {
            return nil
        }
        return error
    }
}
