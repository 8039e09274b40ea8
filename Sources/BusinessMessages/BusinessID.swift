/// The identity of a business, assigned by Apple Business Register.
///
/// In messages it is a plain GUID such as `a884eddf-0c47-4b3e-9c1f-3f2d7c1e5a60`, compared byte by byte. Links for
/// customers contain `urn:biz:…`, which never appears in a message.
public struct BusinessID: WireIdentifier {
    /// The identifier's text in messages.
    public let rawValue: String

    /// Creates an identifier from its text in messages.
    public init(rawValue: String) { self.rawValue = rawValue }
}
