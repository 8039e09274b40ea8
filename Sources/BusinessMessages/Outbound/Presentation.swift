internal import BalloonJSON

/// What every interactive request has besides its question: its bubbles, its images and its identifiers.
public struct Presentation: Hashable, Sendable {
    /// The bubble that the customer sees first.
    public var received: OutboundBubble
    /// The bubble that stands in its place after the answer; the device makes one when it is missing.
    public var reply: OutboundBubble?
    /// The images that bubbles, items and pages refer to.
    public var images: [OutboundImage]
    /// What comes back as the answer's `requestIdentifier`; the message's own identifier unless it is given.
    public var requestIdentifier: String?
    /// The session, a UUID; Apple makes one unless it is given, and all answers carry it.
    public var sessionIdentifier: String?

    /// Makes a presentation.
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

    /// Makes a presentation whose bubble has a headline only.
    public init(_ title: String, images: [OutboundImage] = []) {
        self.init(OutboundBubble(title), images: images)
    }

    /// Writes the member `interactiveData` of one of Apple's own types; `payload` writes what is particular to it.
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
