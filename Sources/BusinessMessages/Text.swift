internal import BalloonJSON

/// A customer's text.
///
/// ```json
/// {"type": "text", "body": "Here it is: \u{FFFC}", "attachments": [{…}]}
/// ```
/// U+FFFC in the body marks the place of each attachment (Apple MSP API, "Text").
public struct Text: Sendable {
    /// The text, including the markers of attachments; empty when the message has no text.
    public let body: String
    /// The subject line, which few devices support.
    public let subject: String?
    /// The files of the message, in the order of their markers.
    public let attachments: [Attachment]
    /// The reaction that the text describes, if any; the customer may also have typed the sentence.
    public let tapback: Tapback?

    init(_ message: JSONValue) {
        body = message["body"]?.scalarString ?? ""
        subject = message["subject"]?.scalarString
        let values = message["attachments"]?.objects ?? []
        // Find only as many markers as there are attachments, because a body may contain many more.
        let places = Array(
            body.unicodeScalars.enumerated().lazy.filter { $0.element == attachmentMarker }.map(\.offset)
                .prefix(values.count))
        attachments = values.enumerated().map { position, value in
            Attachment(value, place: position < places.count ? places[position] : nil)
        }
        tapback = Tapback(prose: body)
    }

    /// The body without attachment markers and surrounding white space.
    public var plainBody: String {
        var plain = body.unicodeScalars
        plain.removeAll { $0 == attachmentMarker }
        return String(String(plain).trimmed)
    }
}

private let attachmentMarker: Unicode.Scalar = "\u{FFFC}"
