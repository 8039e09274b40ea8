/// The bounds within which a JSON text is accepted.
///
/// They keep what a sender can make us hold proportional to what it sent.
public struct JSONLimits: Sendable, Equatable {
    /// How many arrays and objects may be open at once.
    public var maximumDepth: Int
    /// How long a text may be; values above `JSONLimits.addressableBytes` act like it.
    public var maximumBytes: Int
    /// How many values a text may hold, containers included, member names not.
    public var maximumNodes: Int

    /// The longest text that an index can describe: an extent has 28 bits.
    public static let addressableBytes = 1 << 28 - 1

    /// Creates limits; the defaults fit webhooks, decoded payloads and configuration files.
    public init(maximumDepth: Int = 128, maximumBytes: Int = 64 << 20, maximumNodes: Int = 4 << 20) {
        self.maximumDepth = maximumDepth
        self.maximumBytes = maximumBytes
        self.maximumNodes = maximumNodes
    }
}
