/// The identity of a business, assigned by Apple Business Register.
///
/// In messages a plain GUID such as `a884eddf-0c47-4b3e-9c1f-3f2d7c1e5a60`, compared byte by byte. Customers
/// open `urn:biz:…`, which never appears in a message.
public struct BusinessID: RawRepresentable, Hashable, Sendable {
    /// The identifier's text in messages.
    public let rawValue: String

    /// Creates an identifier from its text in messages.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an identifier from its text in messages.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares bytes; `String` would treat canonically equivalent spellings as equal.
    public static func == (left: BusinessID, right: BusinessID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension BusinessID: CustomStringConvertible {
    /// The identifier's text in messages.
    public var description: String { rawValue }
}
