/// The identity of a business as Apple Business Register gave it.
///
/// On the wire a bare GUID such as `a884eddf-0c47-4b3e-9c1f-3f2d7c1e5a60`, compared byte by byte. `urn:biz:…`
/// is what customers open and never appears in a message.
public struct BusinessID: RawRepresentable, Hashable, Sendable {
    /// The identifier as it stands on the wire.
    public let rawValue: String

    /// Takes the identifier as it stands on the wire.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Takes the identifier as it stands on the wire.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Compares bytes; `String` would take canonically equivalent spellings for the same.
    public static func == (left: BusinessID, right: BusinessID) -> Bool {
        left.rawValue.hasSameBytes(as: right.rawValue)
    }
}

extension BusinessID: CustomStringConvertible {
    /// The identifier as it stands on the wire.
    public var description: String { rawValue }
}
