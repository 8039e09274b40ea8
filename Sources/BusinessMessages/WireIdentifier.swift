/// An identifier that is kept as it was received, and compared byte by byte.
public protocol WireIdentifier: RawRepresentable<String>, Hashable, Sendable, CustomStringConvertible {
    /// Creates an identifier from its text.
    init(rawValue: String)
}

extension WireIdentifier {
    /// Creates an identifier from its text.
    public init(_ rawValue: String) { self.init(rawValue: rawValue) }

    /// The identifier's text.
    public var description: String { rawValue }

    /// Compares the bytes of two identifiers; `String` would also treat canonically equivalent spellings as equal.
    public static func == (left: Self, right: Self) -> Bool { left.rawValue.hasSameBytes(as: right.rawValue) }
}
