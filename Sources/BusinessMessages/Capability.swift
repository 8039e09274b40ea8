/// One thing that the customer's device can show, as `capability-list` spells it, in upper case.
public struct Capability: RawRepresentable, Hashable, Sendable {
    /// Quick replies.
    public static let quickReply = Capability(rawValue: "QUICK")
    /// List pickers.
    public static let listPicker = Capability(rawValue: "LIST")
    /// Time pickers.
    public static let timePicker = Capability(rawValue: "TIME")
    /// Authentication version 1.
    public static let authentication = Capability(rawValue: "AUTH")
    /// Authentication version 2.
    public static let authentication2 = Capability(rawValue: "AUTH2")
    /// Forms.
    public static let form = Capability(rawValue: "FORM")

    /// The token, in upper case.
    public let rawValue: String

    /// Takes a token, which may be one that is not known yet.
    public init(rawValue: String) { self.rawValue = rawValue.uppercased() }
}
