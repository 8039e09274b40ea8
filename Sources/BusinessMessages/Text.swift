internal import BalloonJSON

/// What a customer wrote.
///
/// ```json
/// {"type": "text", "body": "Here it is: \u{FFFC}", "attachments": [{…}]}
/// ```
/// U+FFFC in the body marks each attachment's place (Apple MSP API, "Text").
public struct Text: Sendable {
    /// The text with its markers; empty when there is none.
    public let body: String
    /// The subject line, which few devices send.
    public let subject: String?
    /// The files that came along, in the order of their markers.
    public let attachments: [Attachment]
    /// The reaction that the text describes, if it does; the text may still be someone's own words.
    public let tapback: Tapback?

    init(_ message: JSONValue) {
        body = message["body"]?.scalarString ?? ""
        subject = message["subject"]?.scalarString
        let values = message["attachments"]?.objects ?? []
        // No more places than attachments: a body may consist of markers.
        let places = Array(
            body.unicodeScalars.enumerated().lazy.filter { $0.element == attachmentMarker }.map(\.offset)
                .prefix(values.count))
        attachments = values.enumerated().map { position, value in
            Attachment(value, place: position < places.count ? places[position] : nil)
        }
        tapback = Tapback(prose: body)
    }

    /// The body without attachment markers and without white space at its ends.
    public var plainBody: String {
        var plain = body.unicodeScalars
        plain.removeAll { $0 == attachmentMarker }
        return String(String(plain).trimmed)
    }
}

private let attachmentMarker: Unicode.Scalar = "\u{FFFC}"
