internal import BalloonJSON

/// A customer's answer to an invitation; a refusal arrives as ``Close``.
///
/// ```json
/// "data": {"referenceId": "…", "requestIdentifier": "tel:+…", "notification": {"id": "yes",
///          "displayContent": {"determinateResponse": {"title": "…", "subtitle": "…", "type": {"yes": {}}}}}}
/// ```
public struct Invitation: Sendable {
    /// The answer, `yes`.
    public let response: String?
    /// What the answered bubble says.
    public let title: String?
    /// The line under it.
    public let subtitle: String?
    /// The invitation's identifier, as the business chose it.
    public let referenceID: String?
    /// What every interactive message has; `requestIdentifier` is the telephone number that was invited.
    public let interaction: Interaction

    init(_ data: JSONValue, _ interaction: Interaction) {
        let notification = data["notification"]?.object
        let shown = notification?["displayContent"]?["determinateResponse"]?.object
        response = notification?["id"]?.scalarString ?? shown?["type"]?.members.first { _ in true }?.key
        title = shown?["title"]?.scalarString
        subtitle = shown?["subtitle"]?.scalarString
        referenceID = (data.first("referenceId") ?? notification?.first("referenceId"))?.scalarString
        self.interaction = interaction
    }

    /// Whether the customer accepted.
    public var isAccepted: Bool { response?.lowercased() == "yes" }
}
