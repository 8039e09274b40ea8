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
    func write(
        to writer: inout JSONWriter, id: MessageID, version: String = "1.0",
        payload: (inout JSONWriter) -> Void
    ) {
        writer.object("interactiveData") { writer in
            writer.field("bid", Interaction.businessExtension)
            writer.field("sessionIdentifier", sessionIdentifier)
            writer.object("data") { writer in
                writer.field("version", version)
                writer.field("requestIdentifier", requestIdentifier ?? id.rawValue)
                payload(&writer)
                if !images.isEmpty { writer.list("images", images) { $0.write(to: &$1) } }
            }
            writer.bubble("receivedMessage", received)
            writer.bubble("replyMessage", reply)
        }
    }
}
