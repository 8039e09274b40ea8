internal import BalloonJSON

/// Asks a person who has never written to the business for permission to write.
///
/// The server sends it to `tel:+…` with the header `message-type: notification`.
///
/// ```json
/// "data": {"version": "1.0", "requestIdentifier": "…", "notification": {
///          "templateId": "binaryChoice.engage.noImage", "referenceId": "campaign-7/12", "locale": "en-us",
///          "parameters": {"brandName": "Example"}}}
/// ```
/// The answer is an ``Invitation``, or a ``Close`` with the reference.
public struct InvitationRequest: Hashable, Sendable {
    /// Apple's template for the text, such as `binaryChoice.engage.withImage` or `binaryChoice.engage.noImage`.
    public let templateID: String
    /// An identifier that the answer repeats.
    public let referenceID: String
    /// The language of the text, such as `en-us`.
    public let locale: String
    /// The name of the business, which appears in the text.
    public let brandName: String
    /// The logo of the business, in the form that Apple's template requires; nil for templates that end in `noImage`.
    public let brandLogo: String?
    /// The `requestIdentifier` that the answer repeats; the default is the identifier of the message.
    public let requestIdentifier: String?

    /// Creates an invitation.
    public init(
        template: String, reference: String, locale: String, brandName: String, brandLogo: String? = nil,
        requestIdentifier: String? = nil
    ) {
        templateID = template
        referenceID = reference
        self.locale = locale
        self.brandName = brandName
        self.brandLogo = brandLogo
        self.requestIdentifier = requestIdentifier
    }

    func write(to writer: inout JSONWriter, id: MessageID) {
        writer.field(
            "interactiveData",
            JSONObject([
                "bid": Interaction.businessExtension,
                "data": JSONObject([
                    "version": "1.0", "requestIdentifier": requestIdentifier ?? id.rawValue,
                    "notification": JSONObject([
                        "templateId": templateID, "referenceId": referenceID, "locale": locale,
                        "parameters": JSONObject(["brandName": brandName, "brandLogo": brandLogo]),
                    ]),
                ]),
            ]))
    }
}
