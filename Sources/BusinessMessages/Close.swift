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

    init(_ message: JSONValue) {
        let value = message.first("referenceIds", "referenceId")
        if let single = value?.scalarString {
            referenceIDs = [single]
        } else {
            referenceIDs = value?.elements.compactMap(\.scalarString) ?? []
        }
    }

    /// Whether the message answers an invitation.
    public var isDeclinedInvitation: Bool { !referenceIDs.isEmpty }
}
