/// The identity of a business, assigned by Apple Business Register.
///
/// In messages it is a plain GUID such as `a884eddf-0c47-4b3e-9c1f-3f2d7c1e5a60`, compared byte by byte. Links for
/// customers contain `urn:biz:…`, which never appears in a message.
public struct BusinessID: RawRepresentable, Hashable, Sendable {
    /// The identifier's text in messages.
    public let rawValue: String

    /// Creates an identifier from its text in messages.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an identifier from its text in messages.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares the bytes of two identifiers; `String` would also treat canonically equivalent spellings as equal.
    public static func == (left: BusinessID, right: BusinessID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension BusinessID: CustomStringConvertible {
    /// The identifier's text in messages.
    public var description: String { rawValue }
}
