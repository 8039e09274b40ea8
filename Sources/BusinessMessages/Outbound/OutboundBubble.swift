package import BalloonJSON

/// The appearance of an interactive message in the transcript: `receivedMessage` before the answer,
/// `replyMessage` after.
///
/// Apple MSP API, "ReceivedMessage Dictionary" and "ReplyMessage Dictionary". Every text has at most 512
/// characters.
public struct OutboundBubble: Hashable, Sendable, JSONWritable {
    /// The size of the bubble and of its image.
    public enum Style: String, CaseIterable, Sendable {
        /// A bubble of 280 x 65 points; its image has 120 x 120 pixels. This is Apple's default.
        case icon
        /// A bubble of 280 x 85 points; its image has 180 x 180 pixels.
        case small
        /// A bubble of 280 x 210 points; its image has 789 x 450 pixels.
        case large
    }

    /// The headline; in the answer the device usually replaces it with the choice.
    public var title: String
    /// The line under the headline.
    public var subtitle: String?
    /// The bubble's size; iMessage apps ignore it.
    public var style: Style?
    /// The identifier of one of the message's images; iMessage apps ignore it.
    public var imageIdentifier: String?
    /// The image's headline; iMessage apps only.
    public var imageTitle: String?
    /// The line under the image's headline; iMessage apps only.
    public var imageSubtitle: String?
    /// The headline on the right; iMessage apps only.
    public var secondarySubtitle: String?
    /// The line on the right; iMessage apps only.
    public var tertiarySubtitle: String?

    /// Creates a bubble.
    public init(
        _ title: String, subtitle: String? = nil, style: Style? = nil, image imageIdentifier: String? = nil,
        imageTitle: String? = nil, imageSubtitle: String? = nil, secondarySubtitle: String? = nil,
        tertiarySubtitle: String? = nil
    ) {
        self.title = title
        self.subtitle = subtitle
        self.style = style
        self.imageIdentifier = imageIdentifier
        self.imageTitle = imageTitle
        self.imageSubtitle = imageSubtitle
        self.secondarySubtitle = secondarySubtitle
        self.tertiarySubtitle = tertiarySubtitle
    }

    package func write(to writer: inout JSONWriter) {
        writer.object([
            "title": title, "subtitle": subtitle, "style": style?.rawValue,
            "imageIdentifier": imageIdentifier, "imageTitle": imageTitle, "imageSubtitle": imageSubtitle,
            "secondarySubtitle": secondarySubtitle, "tertiarySubtitle": tertiarySubtitle,
        ])
    }
}

extension OutboundBubble {
    /// Reads a bubble from JSON that was validated before.
    init(_ value: JSONValue) {
        self.init(
            value["title"]?.string ?? "", subtitle: value["subtitle"]?.string,
            style: value["style"]?.string.flatMap(Style.init), image: value["imageIdentifier"]?.scalarString,
            imageTitle: value["imageTitle"]?.string, imageSubtitle: value["imageSubtitle"]?.string,
            secondarySubtitle: value["secondarySubtitle"]?.string,
            tertiarySubtitle: value["tertiarySubtitle"]?.string)
    }
}
