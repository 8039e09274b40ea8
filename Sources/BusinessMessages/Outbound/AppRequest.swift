internal import BalloonJSON

/// A bubble of the business's own iMessage app.
///
/// ```json
/// "interactiveData": {"bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:TEAMID:com.example.app.ext",
///   "appId": 1471612309, "appName": "…", "appIcon": "iVBOR…", "URL": "?data=…", "sessionIdentifier": "…",
///   "useLiveLayout": true, "receivedMessage": {…}}
/// ```
/// Apple MSP API, "iMessage App". Apple refuses such a message with a member `data`. Only iPhone and iPad show it.
public struct AppRequest: Hashable, Sendable {
    /// The app in the App Store, which is offered to customers who have not installed it.
    public struct Description: Hashable, Sendable {
        /// The number of the app in the App Store.
        public let appID: Int?
        /// The name of the app.
        public let name: String?
        /// The icon's file, smaller than 15 KB; written as Base64.
        public let icon: [UInt8]?

        /// Creates a description.
        public init(appID: Int?, name: String?, icon: [UInt8]? = nil) {
            self.appID = appID
            self.name = name
            self.icon = icon
        }
    }

    /// The identifier of the app's iMessage extension.
    public let bid: String
    /// The app in the App Store.
    public let app: Description?
    /// The URL that the device passes to the app, at most 64 KB; its query holds the data.
    public let url: String
    /// The bubble before the answer.
    public let received: OutboundBubble
    /// The bubble after the answer.
    public let reply: OutboundBubble?
    /// The identifier of the session, a UUID that all answers repeat.
    public let sessionIdentifier: String?
    /// Whether an installed app draws the bubble itself; Apple's default is true.
    public let usesLiveLayout: Bool?
    /// The files of the message.
    public let attachments: [OutboundAttachment]

    /// Creates a bubble of the extension `extensionID` of the developer team `teamID`.
    public init(
        teamID: String, extensionID: String, app: Description?, url: String, received: OutboundBubble,
        reply: OutboundBubble? = nil, sessionIdentifier: String? = nil, usesLiveLayout: Bool? = nil,
        attachments: [OutboundAttachment] = []
    ) {
        self.init(
            bid: "com.apple.messages.MSMessageExtensionBalloonPlugin:\(teamID):\(extensionID)", app: app,
            url: url, received: received, reply: reply, sessionIdentifier: sessionIdentifier,
            usesLiveLayout: usesLiveLayout, attachments: attachments)
    }

    /// Creates a bubble of the extension with the identifier `bid`.
    public init(
        bid: String, app: Description?, url: String, received: OutboundBubble, reply: OutboundBubble? = nil,
        sessionIdentifier: String? = nil, usesLiveLayout: Bool? = nil, attachments: [OutboundAttachment] = []
    ) {
        self.bid = bid
        self.app = app
        self.url = url
        self.received = received
        self.reply = reply
        self.sessionIdentifier = sessionIdentifier
        self.usesLiveLayout = usesLiveLayout
        self.attachments = attachments
    }

    func write(to writer: inout JSONWriter) {
        writer.field(
            "interactiveData",
            JSONObject([
                "bid": bid, "appId": app?.appID, "appName": app?.name,
                "appIcon": app?.icon.map { Base64.encode($0) }, "URL": url,
                "sessionIdentifier": sessionIdentifier, "useLiveLayout": usesLiveLayout,
                "receivedMessage": received, "replyMessage": reply,
            ]))
        writer.fields(["attachments": attachments.unlessEmpty])
    }
}
