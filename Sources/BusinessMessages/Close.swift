internal import BalloonJSON

/// The customer closed the conversation or declined an invitation.
///
/// Apple's policy forbids messages until the customer writes again.
///
/// ```json
/// {"type": "close", "referenceIds": ["…"]}
/// ```
public struct Close: Equatable, Sendable {
    /// The declined or ended invitations; usually none.
    public let referenceIDs: [String]
    /// Whether the message answers an invitation.
    ///
    /// It names one, or it comes from a telephone number: only an invitation goes to a number.
    public let isDeclinedInvitation: Bool

    init(_ message: JSONValue) {
        let value = message.first("referenceIds", "referenceId")
        if let single = value?.scalarString {
            referenceIDs = [single]
        } else {
            referenceIDs = value?.elements.compactMap(\.scalarString) ?? []
        }
        isDeclinedInvitation = !referenceIDs.isEmpty || message["sourceId"]?.string?.hasPrefix("tel:") == true
    }
}
