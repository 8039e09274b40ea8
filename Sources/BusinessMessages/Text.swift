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
        let places = Self.markers(in: body, maximum: values.count)
        attachments = values.enumerated().map { position, value in
            Attachment(value, place: position < places.count ? places[position] : nil)
        }
        tapback = Tapback(prose: body)
    }

    /// The places of the first `maximum` attachment markers, as offsets in Unicode scalars.
    ///
    /// For a message without attachments `maximum` is 0, and the body is not scanned: it can have megabytes
    /// and any number of markers.
    private static func markers(in body: String, maximum: Int) -> [Int] {
        var places: [Int] = []
        guard maximum > 0 else { return places }
        for (offset, scalar) in body.unicodeScalars.enumerated() where scalar == attachmentMarker {
            places.append(offset)
            if places.count == maximum { break }
        }
        return places
    }

    /// The body without attachment markers and surrounding white space.
    public var plainBody: String {
        // The body can have megabytes; in UTF-8 a search for bytes finds whole scalars only.
        let bytes = body.utf8Span.span
        let bounds = bytes.trimmedBounds(dropsMarkers: true)
        var plain: [UInt8] = []
        plain.reserveCapacity(bounds.count)
        var offset = bounds.lowerBound
        while offset < bounds.upperBound {
            if bytes.hasMarker(at: offset) {
                offset += 3
            } else {
                plain.append(bytes[offset])
                offset += 1
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}

private let attachmentMarker: Unicode.Scalar = "\u{FFFC}"
