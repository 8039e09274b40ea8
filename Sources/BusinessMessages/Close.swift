internal import BalloonJSON

/// The customer closed the conversation or declined an invitation.
///
/// Apple's policy forbids messages until the customer writes again.
///
/// ```json
/// {"type": "close", "referenceIds": ["…"]}
/// ```
public struct Close: Equatable, Sendable {
    /// The `referenceId` of each invitation that was declined or ended; usually empty.
    public let referenceIDs: [String]
    /// Whether the message answers an invitation.
    ///
    /// True when the message names an invitation or comes from a telephone number, because a business writes to a
    /// number only to invite a person.
    public let isDeclinedInvitation: Bool

    init(_ message: JSONValue) {
        let value = message.first("referenceIds", "referenceId")
        if let single = value?.scalarString {
            referenceIDs = [single]
        } else {
            referenceIDs = value?.elements.compactMap(\.scalarString) ?? []
        }
        isDeclinedInvitation =
            !referenceIDs.isEmpty || message["sourceId"]?.textBytes?.starts(with: "tel:".utf8) ?? false
    }
}
