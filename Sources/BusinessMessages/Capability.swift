/// A capability of the customer's device, in the spelling of `capability-list`, upper case.
public struct Capability: RawRepresentable, Hashable, Sendable {
    /// Quick replies.
    public static let quickReply = Capability(rawValue: "QUICK")
    /// List pickers.
    public static let listPicker = Capability(rawValue: "LIST")
    /// Time pickers.
    public static let timePicker = Capability(rawValue: "TIME")
    /// Authentication requests of version 1.
    public static let authentication = Capability(rawValue: "AUTH")
    /// Authentication requests of version 2.
    public static let authentication2 = Capability(rawValue: "AUTH2")
    /// Forms.
    public static let form = Capability(rawValue: "FORM")

    /// The token, in upper case.
    public let rawValue: String

    /// Creates a capability from a token, known or unknown.
    public init(rawValue: String) { self.rawValue = rawValue.uppercased() }
}
