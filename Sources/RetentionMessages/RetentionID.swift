internal import BalloonJSON

/// The identifier of a message or an image at the App Store: a UUID, which is compared without case.
public struct RetentionID: Hashable, Sendable, CustomStringConvertible {
    /// The 36 characters in lower case, as in `a1b2c3d4-e5f6-7890-a1b2-c3d4e5f67890`.
    public let text: String

    /// Reads the 36 characters of a UUID (RFC 9562 §4); nil for every other text.
    public init?(_ text: String) {
        let characters = Array(text.lowercased().utf8)
        guard characters.count == 36 else { return nil }
        for (index, character) in characters.enumerated() {
            let isHyphen = index == 8 || index == 13 || index == 18 || index == 23
            guard isHyphen ? character == UInt8(ascii: "-") : character.isLowercaseHexDigit else {
                return nil
            }
        }
        self.text = String(decoding: characters, as: UTF8.self)
    }

    /// Creates a UUID of version 8 from the first 16 bytes of a hash (RFC 9562 §5.8); nil with fewer bytes.
    public init?(hash: [UInt8]) {
        guard hash.count >= 16 else { return nil }
        var bytes = Array(hash.prefix(16))
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
            text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        self.text = String(decoding: text, as: UTF8.self)
    }

    /// The 36 characters.
    public var description: String { text }
}
