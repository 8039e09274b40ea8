internal import BalloonJSON

/// The identifier of an in-app purchase, as in App Store Connect.
public struct ProductID: Hashable, Sendable, CustomStringConvertible {
    /// The identifier.
    public let text: String

    /// Reads 1 to 255 letters, digits, full stops, hyphens and underscores; nil for every other text.
    public init?(_ text: String) {
        let isAllowed = text.utf8.allSatisfy { $0.isDigit || $0.isLetter || ".-_".utf8.contains($0) }
        guard (1...255).contains(text.utf8.count), isAllowed else { return nil }
        self.text = text
    }

    /// The identifier.
    public var description: String { text }
}
