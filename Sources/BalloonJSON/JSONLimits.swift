/// The limits within which a JSON text is accepted.
///
/// They keep the memory for a text proportional to its length.
public struct JSONLimits: Sendable, Equatable {
    /// The maximum nesting depth of arrays and objects.
    public var maximumDepth: Int
    /// The maximum length of a text in bytes; a value above `JSONLimits.addressableBytes` has no effect.
    public var maximumBytes: Int
    /// The maximum number of values, including containers but not member names.
    public var maximumNodes: Int

    /// The maximum length of a text in bytes that can be indexed, because the index has 28 bits for a length.
    public static let addressableBytes = 1 << 28 - 1

    /// Creates limits; the defaults fit webhooks, decoded payloads and configuration files.
    public init(maximumDepth: Int = 128, maximumBytes: Int = 64 << 20, maximumNodes: Int = 4 << 20) {
        self.maximumDepth = maximumDepth
        self.maximumBytes = maximumBytes
        self.maximumNodes = maximumNodes
    }
}
