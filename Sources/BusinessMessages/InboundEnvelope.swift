public import BalloonJSON

/// The sender, the receiver, the identity and the type of a message.
///
/// The server needs no more to accept a webhook; it decodes the content later.
///
/// The values come from the headers `id`, `source-id` and `destination-id`, and from the body's `id`, `sourceId` and
/// `destinationId` (Apple MSP API, "Receiving Messages from the Messages for Business Service").
public struct InboundEnvelope: Equatable, Sendable {
    /// The maximum length of an identifier or the type in bytes.
    public static let maximumIdentifierBytes = 512

    /// The message's identity, the same on every attempt to post it.
    public let id: MessageID
    /// The body's `type`: `text`, `interactive`, `typing_start`, `typing_end`, `close` or an unknown one.
    public let type: String
    /// The customer who sent the message.
    public let customer: CustomerID
    /// The business that receives the message.
    public let business: BusinessID
    /// Whether the content is behind an `interactiveDataRef` that must be resolved.
    public let hasPayloadReference: Bool

    /// Reads the envelope from the headers and the body.
    ///
    /// An identifier may be in the headers, in the body, or in both; in the last case the bytes must be
    /// equal. An identifier has 1 to 512 bytes and no control characters.
    public static func read(
        document: JSONDocument, headers: EnvelopeHeaders
    ) throws(EnvelopeError) -> InboundEnvelope {
        let body = document.root
        guard body.kind == .object else { throw .notAnObject }
        return InboundEnvelope(
            id: MessageID(try identifier(.id, body["id"], headers.id)),
            type: try identifier(.type, body["type"], nil),
            customer: CustomerID(try identifier(.sourceID, body["sourceId"], headers.sourceID)),
            business: BusinessID(
                try identifier(.destinationID, body["destinationId"], headers.destinationID)),
            hasPayloadReference: body["interactiveDataRef"]?.kind == .object)
    }
}

private func identifier(
    _ field: EnvelopeError.Field, _ member: JSONValue?, _ header: ArraySlice<UInt8>?
) throws(EnvelopeError) -> String {
    let header = header ?? []
    guard let body = try bytes(of: member, field), !body.isEmpty else {
        guard !header.isEmpty else { throw .missing(field) }
        return try checked(header, field)
    }
    guard header.isEmpty || header == body else { throw .disagreement(field) }
    return try checked(body, field)
}

/// The member's string bytes, without a copy where possible; nil when the member is absent or null.
private func bytes(
    of member: JSONValue?, _ field: EnvelopeError.Field
) throws(EnvelopeError) -> ArraySlice<UInt8>? {
    guard let member, !member.isNull else { return nil }
    if let plain = member.stringBytes { return plain }
    // JSON can write one byte of the identifier as six bytes, \u0041; 2 more are the quotation marks.
    guard member.text.count <= 6 * InboundEnvelope.maximumIdentifierBytes + 2 else { throw tooLong(field) }
    guard let escaped = member.string else { throw .malformed(field) }
    return Array(escaped.utf8)[...]
}

private func checked(
    _ bytes: ArraySlice<UInt8>, _ field: EnvelopeError.Field
) throws(EnvelopeError) -> String {
    guard bytes.count <= InboundEnvelope.maximumIdentifierBytes else { throw tooLong(field) }
    // The server sends identifiers as header values to the gateway, where a line break would add another header.
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .malformed(field) }
    guard let string = String(validating: bytes, as: UTF8.self) else { throw .malformed(field) }
    return string
}

private func tooLong(_ field: EnvelopeError.Field) -> EnvelopeError {
    .tooLong(field, limitBytes: InboundEnvelope.maximumIdentifierBytes)
}
