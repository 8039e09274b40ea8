import BalloonWire
package import BusinessMessages

/// The SHA-256 of a customer's identifier, which names the conversation's file; sorted by hexadecimal digits.
package struct ConversationDigest: Hashable, Comparable, Sendable {
    // The 32 bytes of the digest as four big-endian words.
    let first: UInt64
    let second: UInt64
    let third: UInt64
    let fourth: UInt64

    init(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
        (self.first, self.second, self.third, self.fourth) = (first, second, third, fourth)
    }

    /// Computes the digest of a customer's identifier.
    package init(of customer: CustomerID) {
        var hash = SHA256()
        hash.update(customer.rawValue.utf8Span.span)
        let digest = hash.finish()
        func word(_ place: Int) -> UInt64 {
            (place..<place + 8).reduce(0) { $0 << 8 | UInt64(digest[$1]) }
        }
        self.init(word(0), word(8), word(16), word(24))
    }

    /// Parses 64 lower-case hexadecimal digits; nil when they are invalid.
    package init?(_ text: String) {
        // The decoder's error is dropped: text that is not hexadecimal is not a digest.
        guard text.utf8.count == 64, let bytes = try? Hex.decode(text.utf8) else { return nil }
        func word(_ place: Int) -> UInt64 {
            bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.init(word(0), word(8), word(16), word(24))
        guard hexadecimal == text else { return nil }
    }

    /// The first byte.
    var firstByte: UInt8 { UInt8(first >> 56) }

    /// 64 lower-case hexadecimal digits.
    package var hexadecimal: String {
        first.hexadecimal + second.hexadecimal + third.hexadecimal + fourth.hexadecimal
    }

    package static func < (left: Self, right: Self) -> Bool {
        if left.first != right.first { return left.first < right.first }
        if left.second != right.second { return left.second < right.second }
        if left.third != right.third { return left.third < right.third }
        return left.fourth < right.fourth
    }

    // One word is enough, because the digest is a cryptographic hash.
    package func hash(into hasher: inout Hasher) { hasher.combine(first) }
}

extension UInt64 {
    /// 16 lower-case hexadecimal digits.
    var hexadecimal: String {
        Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: self >> (56 - 8 * $0)) })
    }
}
