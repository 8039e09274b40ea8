internal import BalloonJSON

/// The parts that all interactive requests have besides their own content: bubbles, images and identifiers.
public struct Presentation: Hashable, Sendable {
    /// The bubble before the answer.
    public var received: OutboundBubble
    /// The bubble after the answer; nil means that the device creates the bubble.
    public var reply: OutboundBubble?
    /// The images that bubbles, items and pages refer to.
    public var images: [OutboundImage]
    /// The `requestIdentifier` that the answer repeats; the default is the identifier of the message.
    public var requestIdentifier: String?
    /// The identifier of the session, a UUID that all answers repeat; nil means that Apple creates the
    /// identifier.
    public var sessionIdentifier: String?

    /// Creates a presentation.
    public init(
        _ received: OutboundBubble, reply: OutboundBubble? = nil, images: [OutboundImage] = [],
        requestIdentifier: String? = nil, sessionIdentifier: String? = nil
    ) {
        self.received = received
        self.reply = reply
        self.images = images
        self.requestIdentifier = requestIdentifier
        self.sessionIdentifier = sessionIdentifier
    }

    /// Creates a presentation whose bubble has a headline only.
    public init(_ title: String, images: [OutboundImage] = []) {
        self.init(OutboundBubble(title), images: images)
    }

    /// Writes the member `interactiveData` of one of Apple's own kinds; `payload` writes the members of that kind.
    ///
    /// Apple MSP API, "BaseInteractiveMessage Dictionary".
    func write(to writer: inout JSONWriter, id: MessageID, version: String = "1.0", _ payload: JSONObject) {
        writer.object("interactiveData") { writer in
            writer.fields(["bid": Interaction.businessExtension, "sessionIdentifier": sessionIdentifier])
            writer.object("data") { writer in
                writer.fields(["version": version, "requestIdentifier": requestIdentifier ?? id.rawValue])
                writer.fields(payload)
                writer.fields(["images": images.unlessEmpty])
            }
            writer.fields(["receivedMessage": received, "replyMessage": reply])
        }
    }
}
