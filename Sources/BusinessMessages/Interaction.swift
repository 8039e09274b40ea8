internal import BalloonJSON

/// The common fields of interactive messages.
///
/// ```json
/// {"bid": "com.apple…", "sessionIdentifier": "…", "data": {"requestIdentifier": "…", "version": "1.0",
///  "receivedMessage": {…}, "replyMessage": {…}, "images": […]}}
/// ```
/// Every field may be missing. Apple's own types have the bubbles inside `data`, apps next to it; both places
/// are read.
public struct Interaction: Sendable {
    /// The `bid` of Apple's own interactive messages.
    public static let businessExtension =
        "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"

    private let interactiveData: JSONValue
    private let data: JSONValue?

    /// Wraps an `interactiveData`; fields are decoded at their first use.
    init(_ interactiveData: JSONValue) {
        self.interactiveData = interactiveData
        data = interactiveData["data"]?.object
    }

    /// The extension of the message.
    public var bid: String? { interactiveData["bid"]?.scalarString }

    /// The session that the request opened; all replies to the request repeat it.
    public var sessionIdentifier: String? {
        interactiveData.first("sessionIdentifier")?.scalarString ?? data?["sessionIdentifier"]?.scalarString
    }

    /// The identifier of the request, repeated by the answer.
    public var requestIdentifier: String? { common("requestIdentifier")?.scalarString }

    /// The schema's version, `1.0` or `2.0`.
    public var version: String? { (common("version") ?? common("mspVersion"))?.scalarString }

    /// The bubble that the business sent.
    public var receivedMessage: Bubble? { common("receivedMessage")?.object.map(Bubble.init) }

    /// The bubble that the customer sent back.
    public var replyMessage: Bubble? { common("replyMessage")?.object.map(Bubble.init) }

    /// The images that the bubbles and items refer to.
    public var images: [InlineImage] { common("images")?.objects(InlineImage.init) ?? [] }

    private func common(_ key: String) -> JSONValue? { data?.first(key) ?? interactiveData.first(key) }
}
