import BalloonWire
import BusinessMessages

/// The name of a conversation's file, in 48 bytes: the folder of its business and the hash of its customer.
struct ConversationName: Hashable, Sendable {
    // The SHA-256, in big-endian words.
    private let first: UInt64
    private let second: UInt64
    private let third: UInt64
    private let fourth: UInt64
    /// The folder of the business.
    let business: String

    /// Creates the name of a conversation in the folder of its business.
    init(_ key: ConversationKey, in business: String) {
        var hash = SHA256()
        hash.update(key.customer.rawValue.utf8Span.span)
        let digest = hash.finish()
        func word(_ place: Int) -> UInt64 {
            (place..<place + 8).reduce(0) { $0 << 8 | UInt64(digest[$1]) }
        }
        (first, second, third, fourth) = (word(0), word(8), word(16), word(24))
        self.business = business
    }

    /// Parses a path below the folder of all conversations; nil when it is invalid.
    init?(path: String) {
        let parts = path.split(separator: "/")
        guard parts.count == 3, parts[2].utf8.count == 70, parts[2].hasSuffix(".jsonl"),
            parts[2].hasPrefix(parts[1]),
            // Text that is not a hexadecimal number is not a name.
            let digest = try? Hex.decode(parts[2].utf8.prefix(64))
        else { return nil }
        func word(_ place: Int) -> UInt64 {
            digest[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        (first, second, third, fourth) = (word(0), word(8), word(16), word(24))
        business = String(parts[0])
        guard self.path == path else { return nil }
    }

    /// The first byte of the hash.
    var firstByte: UInt8 { UInt8(first >> 56) }

    /// `<business>/<2 hex>/<64 hex>.jsonl`, below the folder of all conversations.
    var path: String {
        var text: [UInt8] = []
        text.reserveCapacity(business.utf8.count + 74)
        text.append(contentsOf: business.utf8)
        text.append(UInt8(ascii: "/"))
        Self.append(first >> 56, digits: 2, to: &text)
        text.append(UInt8(ascii: "/"))
        for word in [first, second, third, fourth] { Self.append(word, digits: 16, to: &text) }
        text.append(contentsOf: ".jsonl".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    private static func append(_ word: UInt64, digits: Int, to text: inout [UInt8]) {
        for place in (0..<digits).reversed() {
            let digit = UInt8(truncatingIfNeeded: word >> UInt64(4 * place) & 15)
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    /// The file's name is a hash already.
    func hash(into hasher: inout Hasher) { hasher.combine(first) }
}
