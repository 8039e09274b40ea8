public import BusinessMessages
internal import Synchronization

/// What a business and a customer said to each other so far, the oldest first.
///
/// The server gives the latest entries only; the first entry's ``Entry/seq`` tells how many are left out.
public struct Conversation: Sendable {
    /// One message.
    public struct Entry: Sendable {
        /// Its place in the whole conversation: 1, 2, 3, without gaps; nil for a reply that is queued.
        public let seq: Int?
        /// When it was recorded, or decided while it is queued, in UTC: `2026-07-10T17:00:00.000Z` (RFC 3339).
        public let at: String
        /// Who said it.
        public let direction: Direction
        /// Its kind.
        public let kind: Kind
        /// Its identity.
        public let id: MessageID
        /// What became of what the business said: `queued`, `accepted`, `refused`, `expired`, or `dropped`; nil for what the
        /// customer said.
        public let outcome: String?
        /// Its JSON.
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

    /// What is read once, by whoever asks first.
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

    /// Makes a conversation that is read when somebody asks for its entries; `read` is called once, and may wait for the
    /// disk.
    package init(reading read: @escaping @Sendable () throws -> [Entry]) { source = .reading(Reading(read)) }

    /// The latest messages, the oldest first, and behind them the replies that are queued; none when they cannot be read.
    ///
    /// A server reads them from its disk when they are first asked for, on the caller's thread: an event costs nothing for a
    /// history that nobody looks at. What a handler answers after it was shown none because they cannot be read is dropped,
    /// and the event comes again; one that must not act on that asks ``read()``.
    public var entries: [Entry] { (try? read()) ?? [] }

    /// The same as ``entries``; throws when they cannot be read, for a handler to throw on.
    public func read() throws -> [Entry] {
        switch source {
        case .entries(let entries): entries
        case .reading(let reading): try reading.entries()
        }
    }

    /// Why the entries could not be read, once somebody asked for them.
    package var failure: (any Error)? {
        guard case .reading(let reading) = source, case .failure(let error)? = reading.known else {
            return nil
        }
        return error
    }
}
