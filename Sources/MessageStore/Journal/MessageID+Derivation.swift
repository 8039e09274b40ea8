import BalloonWire
package import BusinessMessages

extension MessageID {
    /// Creates a UUID of version 8 (RFC 9562 §5.8) from the first 16 bytes of the SHA-256 of `bytes`.
    package init(derivedFrom bytes: [UInt8]) {
        var bytes = SHA256.hash(bytes).prefix(16)
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        var text = ""
        for (place, digit) in Hex.encode(bytes).enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append("-") }
            text.append(digit)
        }
        self.init(text)
    }

    /// Creates the UUID of texts; each has its length before it, so that no two lists have the same UUID.
    package init(derivedFrom parts: [String], prefix: String = "") {
        self.init(derivedFrom: Array((prefix + parts.map { "\($0.utf8.count):\($0)" }.joined()).utf8))
    }
}
