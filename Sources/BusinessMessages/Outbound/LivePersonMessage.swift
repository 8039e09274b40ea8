public import BalloonJSON

/// A message of an iMessage app, written as the metadata of LivePerson's structured content.
///
/// ```json
/// {"type": "BusinessChatCustomMessage", "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:TEAM:EXTENSION",
///  "URL": "?data=%7B…%7D", "appId": 1471612309, "appName": "…", "sessionIdentifier": "…", "useLiveLayout": false,
///  "receivedMessage": {"title": "…", "subtitle": "…", "imageURL": "https://…"}}
/// ```
/// LivePerson, "Structured Content Schema for Custom iMessage Apps".
public struct LivePersonMessage: Hashable, Sendable {
    /// The result of reading metadata: a message, and the problems that were found.
    public struct Reading: Sendable {
        /// The message; `nil` when one of the problems is an error.
        public let message: LivePersonMessage?
        /// The problems of the metadata, at most 100.
        public let problems: [MessageProblem]
    }

    /// The message in Apple's format.
    public let request: AppRequest
    /// The URL of the bubble's image, which only LivePerson's format has.
    ///
    /// Apple accepts no URL for an image; upload the image and send it as an attachment.
    public let imageURL: String?

    /// Reads metadata: the object itself, a list that contains it, or an object with such a list as
    /// `metadata`.
    ///
    /// Images must come from one of `imageHosts` or from a subdomain of one; when `imageHosts` is empty,
    /// every image is refused. A message without `useLiveLayout` does not use Live Layout, because
    /// LivePerson's default differs from Apple's. In the URL, characters that a URL may not contain are
    /// percent-encoded.
    public static func read(_ value: JSONValue, imageHosts: [String]) -> Reading {
        let metadata = metadata(in: value)
        var inspection = Inspection(author: "LivePerson")
        inspection.check(metadata, check(imageHosts: imageHosts))
        let problems = inspection.problems
        return Reading(message: problems.hasErrors ? nil : LivePersonMessage(metadata), problems: problems)
    }

    /// Creates the URL by which an app sends its reply as text; ``App/replyText`` reads the text.
    ///
    /// `?data={"lpData<BRAND>":{"interactive":{"response":{"text":"…"}}}}`, percent-encoded.
    public static func replyURL(_ text: String, brand: String = "") -> String {
        let response = JSONObject(["response": JSONObject(["text": text])])
        let json = JSONWriter.object { writer in
            writer.field("lpData" + brand, JSONObject(["interactive": response]))
        }
        return "?data=" + json.percentEncoded(keeping: \.isUnreserved)
    }

    /// Whether a handler's reply is metadata of LivePerson instead of a message in Apple's format.
    package static func isMetadata(_ reply: JSONValue) -> Bool {
        reply["type"].map { $0.equals(type) } ?? (reply["metadata"]?.kind == .array)
    }

    private static func metadata(in value: JSONValue) -> JSONValue {
        let list = value["metadata"] ?? value
        guard list.kind == .array else { return list }
        return list.elements.first { $0["type"]?.equals(type) ?? false } ?? list.elements.first { _ in true }
            ?? list
    }

    /// Converts metadata in which no error was found.
    private init(_ metadata: JSONValue) {
        let bubble = metadata["receivedMessage"]
        func text(_ name: String) -> String? { bubble?[name]?.string }
        let hasApp = metadata["appId"] != nil || metadata["appName"] != nil
        request = AppRequest(
            bid: metadata["bid"]?.string ?? "",
            app: hasApp ? .init(appID: metadata["appId"]?.scalarInt, name: metadata["appName"]?.string) : nil,
            url: Array((metadata["URL"]?.string ?? "").utf8).percentEncoded(keeping: \.isOfURL),
            received: OutboundBubble(
                text("title") ?? "", subtitle: text("subtitle"), imageTitle: text("imageTitle"),
                imageSubtitle: text("imageSubtitle"), secondarySubtitle: text("secondarySubtitle"),
                tertiarySubtitle: text("tertiarySubtitle")),
            sessionIdentifier: metadata["sessionIdentifier"]?.string,
            usesLiveLayout: metadata["useLiveLayout"]?.bool ?? false)
        imageURL = bubble?["imageURL"]?.nonEmptyString
    }
}

extension LivePersonMessage {
    private static let type = "BusinessChatCustomMessage"

    private static func check(imageHosts: [String]) -> Check {
        Checks.object(
            "Custom iMessage App Metadata Properties",
            [
                .required("type", Checks.oneOf([type], .livePersonType)), .required("bid", Checks.bid),
                .required("URL", Checks.appURL), .required("receivedMessage", bubble(imageHosts)),
                .optional("appId", Checks.integer), .optional("appName", Checks.text),
                .optional("sessionIdentifier", Checks.uuid(.sessionIdentifier)),
                .optional("useLiveLayout", Checks.boolean),
            ])
    }

    private static func bubble(_ imageHosts: [String]) -> Check {
        let text = Checks.text(atMost: Checks.maximumBubbleCharacters, .bubbleText)
        return Checks.object(
            "Received Message Object Properties",
            [
                .required(
                    "title",
                    Checks.text(atMost: Checks.maximumBubbleCharacters, .bubbleText, mayBeEmpty: false)),
                .optional("subtitle", text), .optional("secondarySubtitle", text),
                .optional("tertiarySubtitle", text), .optional("imageTitle", text),
                .optional("imageSubtitle", text),
                .optional(
                    "imageURL",
                    Checks.text(
                        .livePersonImage,
                        allowed: imageHosts.isEmpty
                            ? "no image here; upload it and send it as an attachment"
                            : "https from " + imageHosts.joined(separator: " ")
                    ) { $0.isSecureAddress(onOneOf: imageHosts) }),
            ])
    }
}

extension String {
    /// Whether the text is an `https` URL whose host is one of these or a subdomain of one.
    ///
    /// A URL with user information, such as `https://user@host`, is refused.
    fileprivate func isSecureAddress(onOneOf hosts: [String]) -> Bool {
        guard let authority = webAuthority(schemes: ["https"])?.prefix(while: { $0 != "\\" }).lowercased()
        else { return false }
        guard !authority.contains("@") else { return false }
        let host = authority.prefix { $0 != ":" }
        return hosts.map { $0.lowercased() }.contains { host == $0 || host.hasSuffix("." + $0) }
    }
}

extension UInt8 {
    /// Whether the byte is allowed in a URL, including the percent sign of an existing escape.
    fileprivate var isOfURL: Bool { isUnreserved || "%:/?#[]@!$&'()*+,;=".utf8.contains(self) }
}
