/// The real-time URL: the address to which the App Store sends a question when a subscriber is about to
/// cancel.
public struct RealtimeURL: Hashable, Sendable {
    /// The address.
    public let text: String

    /// Reads an https address of at most 256 visible ASCII characters with a host; nil for every other text.
    public init?(_ text: String) {
        let prefix = "https://"
        guard text.lowercased().hasPrefix(prefix), text.utf8.count <= RetentionLimits.maximumURL,
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.utf8.contains(UInt8(ascii: "#"))
        else { return nil }
        let host = text.dropFirst(prefix.count).prefix { $0 != "/" && $0 != "?" }
        guard !host.isEmpty, host.first != ":", !host.utf8.contains(UInt8(ascii: "@")) else { return nil }
        self.text = text
    }
}
