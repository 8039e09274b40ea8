public import BusinessMessages

/// What a business and a customer said to each other so far, the oldest first.
///
/// The server gives the latest entries only; the first entry's ``Entry/seq`` tells how many are left out.
public struct Conversation: Sendable {
    /// One message.
    public struct Entry: Sendable {
        /// Its place in the whole conversation: 1, 2, 3, without gaps.
        public let seq: Int
        /// When it was recorded, in UTC: `2026-07-10T17:00:00.000Z` (RFC 3339).
        public let at: String
        /// Who said it.
        public let direction: Direction
        /// Its kind.
        public let kind: Kind
        /// Its identity.
        public let id: MessageID
        /// Its JSON.
        public let message: JSONValue

        /// Makes an entry.
        public init(seq: Int, at: String, direction: Direction, kind: Kind, id: MessageID, message: JSONValue)
        {
            self.seq = seq
            self.at = at
            self.direction = direction
            self.kind = kind
            self.id = id
            self.message = message
        }
    }

    /// The latest messages, the oldest first.
    public let entries: [Entry]

    /// Makes a conversation.
    public init(entries: [Entry] = []) { self.entries = entries }
}
