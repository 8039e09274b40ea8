internal import BalloonJSON

/// What every interactive message has, whatever was asked.
///
/// ```json
/// {"bid": "com.apple…", "sessionIdentifier": "…", "data": {"requestIdentifier": "…", "version": "1.0",
///  "receivedMessage": {…}, "replyMessage": {…}, "images": […]}}
/// ```
/// Every field may be missing. Apple's own types carry the bubbles inside `data`, others beside it; both are
/// read.
public struct Interaction: Sendable {
    /// The `bid` of Apple's own interactive messages.
    public static let businessExtension =
        "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"

    /// The extension that the message belongs to.
    public let bid: String?
    /// The session that the request opened; stays the same in all replies to it.
    public let sessionIdentifier: String?
    /// The request's own identifier, echoed.
    public let requestIdentifier: String?
    /// The schema's version, `1.0` or `2.0`.
    public let version: String?
    /// The bubble that the business sent.
    public let receivedMessage: Bubble?
    /// The bubble that the customer sent back.
    public let replyMessage: Bubble?
    /// The images that the bubbles and items refer to.
    public let images: [InlineImage]

    /// Reads an `interactiveData`.
    init(_ interactiveData: JSONValue) {
        let data = interactiveData["data"]?.object
        func common(_ key: String) -> JSONValue? { data?.first(key) ?? interactiveData.first(key) }
        bid = interactiveData["bid"]?.scalarString
        sessionIdentifier =
            interactiveData.first("sessionIdentifier")?.scalarString
            ?? data?["sessionIdentifier"]?.scalarString
        requestIdentifier = common("requestIdentifier")?.scalarString
        version = (common("version") ?? common("mspVersion"))?.scalarString
        receivedMessage = common("receivedMessage")?.object.map(Bubble.init)
        replyMessage = common("replyMessage")?.object.map(Bubble.init)
        images = common("images")?.objects.map(InlineImage.init) ?? []
    }
}
