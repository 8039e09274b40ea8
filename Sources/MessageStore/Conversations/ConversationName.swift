import BusinessMessages

/// The name of a conversation's file, in 48 bytes: the folder of its business and the hash of its customer.
struct ConversationName: Hashable, Sendable {
    /// The SHA-256 of the customer.
    let digest: ConversationDigest
    /// The folder of the business.
    let business: String

    /// Creates the name of a conversation in the folder of its business.
    init(_ key: ConversationKey, in business: String) {
        self.init(ConversationDigest(of: key.customer), in: business)
    }

    /// Creates the name of the conversation with this digest in the folder of its business.
    init(_ digest: ConversationDigest, in business: String) {
        self.digest = digest
        self.business = business
    }

    /// Parses a path below the folder of all conversations; nil when it is invalid.
    init?(path: String) {
        let parts = path.split(separator: "/")
        guard parts.count == 3, let digest = ConversationDigest(String(parts[2].prefix(64))) else {
            return nil
        }
        self.init(digest, in: String(parts[0]))
        guard self.path == path else { return nil }
    }

    /// The first byte of the hash.
    var firstByte: UInt8 { digest.firstByte }

    /// `<business>/<2 hex>/<64 hex>.jsonl`, below the folder of all conversations.
    var path: String { business + "/" + ConversationPath.file(of: digest) }

    /// Feeds the hasher only the beginning of the digest, because the digest is a hash itself.
    func hash(into hasher: inout Hasher) { hasher.combine(digest.first) }
}
