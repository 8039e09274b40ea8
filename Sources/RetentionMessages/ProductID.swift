/// The identifier of an in-app purchase, as in App Store Connect.
public struct ProductID: Hashable, Sendable {
    /// The identifier.
    public let text: String

    /// Reads 1 to 255 letters, digits, full stops, hyphens and underscores; nil for every other text.
    public init?(_ text: String) {
        let isAllowed = text.utf8.allSatisfy { character in
            switch character {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard (1...255).contains(text.utf8.count), isAllowed else { return nil }
        self.text = text
    }
}

extension ProductID: CustomStringConvertible {
    /// The identifier.
    public var description: String { text }
}
