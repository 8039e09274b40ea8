/// The kind of a message; its raw value is its name in files, commands and logs.
public enum Kind: String, CaseIterable, Sendable {
    /// Text, with or without attachments; also a tapback, which arrives as text.
    case text
    /// A choice in a quick reply.
    case quickReply
    /// The items chosen in a list picker.
    case listPicker
    /// The time slot chosen in a time picker.
    case timePicker
    /// The answers of a form.
    case form
    /// The result of an authentication request, version 1 or 2.
    case authentication
    /// The result of an Apple Pay request.
    case applePay
    /// A bubble of an iMessage app.
    case app
    /// The answer to an invitation.
    case invitation
    /// The customer began to write.
    case typingStart
    /// The customer deleted the unsent text.
    case typingEnd
    /// The customer closed the conversation or declined an invitation.
    case close
    /// Anything else; its raw JSON is kept.
    case unrecognized
}

extension Kind: CustomStringConvertible {
    /// The kind's name.
    public var description: String { rawValue }
}
