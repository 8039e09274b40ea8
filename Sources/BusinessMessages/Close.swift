internal import BalloonJSON

/// The customer closed the conversation or declined an invitation.
///
/// Nothing may be sent until they write again (Apple's policy).
///
/// ```json
/// {"type": "close", "referenceIds": ["…"]}
/// ```
public struct Close: Equatable, Sendable {
    /// The invitations that were declined or left; usually none.
    public let referenceIDs: [String]

    init(_ message: JSONValue) {
        let value = message.first("referenceIds", "referenceId")
        if let single = value?.scalarString {
            referenceIDs = [single]
        } else {
            referenceIDs = value?.elements.compactMap(\.scalarString) ?? []
        }
    }

    /// Whether it answers an invitation.
    public var isDeclinedInvitation: Bool { !referenceIDs.isEmpty }
}
