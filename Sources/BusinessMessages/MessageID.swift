/// The identity of one message, in either direction.
///
/// Apple uses UUIDs; any received identifier is kept unchanged and compared byte by byte.
public struct MessageID: WireIdentifier {
    /// The identifier's text in messages.
    public let rawValue: String

    /// Creates an identifier from its text in messages.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a version 4 UUID in lower case from the system's random source (RFC 9562 §5.4).
    public static func random() -> MessageID {
        var generator = SystemRandomNumberGenerator()
        let high: UInt64 = generator.next() & ~0xF000 | 0x4000
        let low: UInt64 = generator.next() & ~(0b11 << 62) | (0b10 << 62)
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for position in 0..<32 {
            if [8, 12, 16, 20].contains(position) { text.append(UInt8(ascii: "-")) }
            let half = position < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - position % 16 * 4)) & 0xF
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
        return MessageID(String(decoding: text, as: UTF8.self))
    }
}
