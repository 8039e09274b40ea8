import BalloonWire
import BusinessMessages

/// The identity of a message in the deduplication index: 128 bits of a SHA-256.
///
/// The hash is computed from the length of the business id in eight bytes, the business id, and the message
/// id. No two pairs of ids therefore have the same input.
struct MessageKey: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// Creates a key from the first 64 bits of the hash and the next 64.
    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(business: BusinessID, id: MessageID) {
        let length = UInt64(business.rawValue.utf8.count)
        var prefix = InlineArray<8, UInt8>(repeating: 0)
        for byte in prefix.indices { prefix[byte] = UInt8(truncatingIfNeeded: length >> (8 * byte)) }
        var hasher = SHA256()
        hasher.update(prefix.span)
        hasher.update(business.rawValue.utf8Span.span)
        hasher.update(id.rawValue.utf8Span.span)
        let hash = hasher.finish()
        var high: UInt64 = 0
        var low: UInt64 = 0
        for position in 0..<8 {
            high = high << 8 | UInt64(hash[position])
            low = low << 8 | UInt64(hash[position + 8])
        }
        self.high = high
        self.low = low
    }

    // 64 bits of the SHA-256 are enough: they are distributed uniformly, and the hasher adds a random seed.
    func hash(into hasher: inout Hasher) { hasher.combine(low) }
}
