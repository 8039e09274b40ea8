internal import BalloonJSON

/// The fields that all interactive messages have in common.
///
/// ```json
/// {"bid": "com.apple…", "sessionIdentifier": "…", "data": {"requestIdentifier": "…", "version": "1.0",
///  "receivedMessage": {…}, "replyMessage": {…}, "images": […]}}
/// ```
/// Every field may be missing. Messages of Apple's own kinds have the bubbles inside `data`, and messages of
/// apps have them directly in `interactiveData`; both places are read.
public struct Interaction: Sendable {
    /// The `bid` of Apple's own interactive messages.
    public static let businessExtension =
        "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"

    private let interactiveData: JSONValue
    private let data: JSONValue?

    /// Wraps an `interactiveData`; each property decodes its field when it is used.
    init(_ interactiveData: JSONValue) {
        self.interactiveData = interactiveData
        data = interactiveData["data"]?.object
    }

    /// The identifier of the iMessage extension that the message belongs to.
    public var bid: String? { interactiveData["bid"]?.scalarString }

    /// The identifier of the session that the request opened; all answers to the request repeat it.
    public var sessionIdentifier: String? {
        interactiveData.first("sessionIdentifier")?.scalarString ?? data?["sessionIdentifier"]?.scalarString
    }

    /// The identifier of the request, repeated by the answer.
    public var requestIdentifier: String? { common("requestIdentifier")?.scalarString }

    /// The version of the message format, `1.0` or `2.0`.
    public var version: String? { (common("version") ?? common("mspVersion"))?.scalarString }

    /// The bubble that the business sent, shown until the customer answers.
    public var receivedMessage: Bubble? { common("receivedMessage")?.object.map(Bubble.init) }

    /// The bubble that the transcript shows after the customer's answer.
    public var replyMessage: Bubble? { common("replyMessage")?.object.map(Bubble.init) }

    /// The images that the bubbles and items refer to.
    public var images: [InlineImage] { common("images")?.objects(InlineImage.init) ?? [] }

    private func common(_ key: String) -> JSONValue? { data?.first(key) ?? interactiveData.first(key) }
}
