internal import BalloonJSON

/// A message that an iMessage app created on the customer's device, shown as a bubble.
///
/// ```json
/// {"bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:EQHXZ8M8AV:com.example.app.extension",
///  "URL": "?data=%7B…%7D", "sessionIdentifier": "…", "receivedMessage": {…}}
/// ```
/// Apple MSP API, "Custom Interactive Message". There is no `data`; the app's own content is in `URL`.
public struct App: Sendable {
    /// One part of the URL's query.
    public struct QueryItem: Equatable, Sendable {
        /// The part before the equals sign, percent-decoded.
        public let name: String
        /// The part after the equals sign, percent-decoded; `nil` without an equals sign.
        public let value: String?
    }

    /// The number of the app in the App Store.
    public let appID: String?
    /// The app's name.
    public let appName: String?
    /// The URL with the app's data, as it was sent.
    public let url: String?
    /// The items of the URL's query, in the order of the URL.
    public let queryItems: [QueryItem]
    /// The reply as text, for apps that follow LivePerson's convention.
    ///
    /// In that convention the query item `data` is `{"lpData…": {"interactive": {"response": {"text": "…"}}}}`.
    public let replyText: String?
    /// The fields that all interactive messages have in common; `bid` identifies the app.
    public let interaction: Interaction

    init(_ interactiveData: JSONValue, _ interaction: Interaction) {
        appID = interactiveData["appId"]?.scalarString
        appName = interactiveData["appName"]?.scalarString
        url = interactiveData.first("URL", "url")?.nonEmptyString
        queryItems = url.map(QueryItem.items(of:)) ?? []
        replyText = queryItems.lazy.compactMap { $0.value.flatMap(agreedReplyText(in:)) }.first
        self.interaction = interaction
    }
}

extension App.QueryItem {
    fileprivate static func items(of url: String) -> [App.QueryItem] {
        let utf8 = url.utf8
        guard let mark = utf8.firstIndex(of: UInt8(ascii: "?")) else { return [] }
        // Bytes, because comparing characters takes time proportional to the square of a run of combining marks.
        let query = utf8[utf8.index(after: mark)...].prefix { $0 != UInt8(ascii: "#") }
        return query.split(separator: UInt8(ascii: "&")).map { part in
            guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else {
                return App.QueryItem(name: Substring(part).percentDecoded, value: nil)
            }
            let value = part[part.index(after: equals)...]
            return App.QueryItem(
                name: Substring(part[..<equals]).percentDecoded, value: Substring(value).percentDecoded)
        }
    }
}

/// The text of a reply in LivePerson's convention, from the value of a query item; nil for other values.
///
/// The name of the member `lpData` may end with the brand's number.
private func agreedReplyText(in value: String) -> String? {
    // Ignore a value that is not JSON: the app uses another format.
    guard value.utf8.first == UInt8(ascii: "{"), let document = try? JSONDocument(Array(value.utf8)) else {
        return nil
    }
    var members = document.root.members
    while let (name, data) = members.nextWithBytes() {
        guard name.starts(with: "lpData".utf8) else { continue }
        if let text = data["interactive"]?["response"]?["text"]?.scalarString { return text }
    }
    return nil
}
