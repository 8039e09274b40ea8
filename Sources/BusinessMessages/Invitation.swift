internal import BalloonJSON

/// A customer's answer to an invitation; a customer who declines sends a ``Close`` instead.
///
/// ```json
/// "data": {"referenceId": "…", "requestIdentifier": "tel:+…", "notification": {"id": "yes",
///          "displayContent": {"determinateResponse": {"title": "…", "subtitle": "…", "type": {"yes": {}}}}}}
/// ```
public struct Invitation: Sendable {
    /// The customer's answer, usually `yes`.
    public let response: String?
    /// The title of the answered bubble.
    public let title: String?
    /// The line under the title.
    public let subtitle: String?
    /// The invitation's identifier, chosen by the business.
    public let referenceID: String?
    /// The fields that all interactive messages have in common; `requestIdentifier` is the invited telephone number.
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
