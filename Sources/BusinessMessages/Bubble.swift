internal import BalloonJSON

/// The appearance of an interactive message in the transcript: `receivedMessage` or `replyMessage`.
///
/// Every field may be missing.
public struct Bubble: Equatable, Sendable {
    /// The headline; in a reply usually the chosen item.
    public let title: String?
    /// The line under the headline.
    public let subtitle: String?
    /// `icon`, `small` or `large`.
    public let style: String?
    /// The image's identifier; a string, although one of Apple's tables calls it an integer.
    public let imageIdentifier: String?
    /// A second headline that Apple sends in replies without documenting it.
    public let alternateTitle: String?
    /// The image's headline; iMessage apps only.
    public let imageTitle: String?
    /// The line under the image's headline; iMessage apps only.
    public let imageSubtitle: String?
    /// The headline on the right; iMessage apps only.
    public let secondarySubtitle: String?
    /// The line on the right; iMessage apps only.
    public let tertiarySubtitle: String?

    init(_ value: JSONValue) {
        title = value["title"]?.scalarString
        subtitle = value["subtitle"]?.scalarString
        style = value["style"]?.scalarString
        imageIdentifier = value["imageIdentifier"]?.scalarString
        alternateTitle = value["alternateTitle"]?.scalarString
        imageTitle = value["imageTitle"]?.scalarString
        imageSubtitle = value["imageSubtitle"]?.scalarString
        secondarySubtitle = value["secondarySubtitle"]?.scalarString
        tertiarySubtitle = value["tertiarySubtitle"]?.scalarString
    }
}
