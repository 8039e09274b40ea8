public import BalloonJSON

/// Who sent which message to whom: all that is needed to accept a webhook, before its content is looked at.
///
/// Read from the headers `id`, `source-id`, `destination-id` and the body's `id`, `sourceId`, `destinationId`
/// (Apple MSP API, "Receiving Messages from the Messages for Business Service").
public struct InboundEnvelope: Equatable, Sendable {
    /// The most bytes an identifier or the type may have.
    public static let maximumIdentifierBytes = 512

    /// The message's identity, the same on every attempt of the sender.
    public let id: MessageID
    /// The body's `type`: `text`, `interactive`, `typing_start`, `typing_end`, `close` or one we do not know yet.
    public let type: String
    /// The sender.
    public let customer: CustomerID
    /// The receiver.
    public let business: BusinessID
    /// Whether the content is behind an `interactiveDataRef` and must be fetched.
    public let hasPayloadReference: Bool

    /// Reads the envelope; each identifier from the body, or from its header where the body lacks it or has it empty.
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
    if let member, !member.isNull {
        // Six bytes are the longest spelling of one: \u0041.
        guard member.text.count <= 6 * InboundEnvelope.maximumIdentifierBytes + 2 else {
            throw tooLong(field)
        }
        guard let string = member.string else { throw .malformed(field) }
        if !string.isEmpty {
            if let header, !header.isEmpty, !header.elementsEqual(string.utf8) { throw .disagreement(field) }
            return try checked(string, field)
        }
    }
    guard let header, !header.isEmpty else { throw .missing(field) }
    guard let string = String(validating: header, as: UTF8.self) else { throw .malformed(field) }
    return try checked(string, field)
}

private func checked(_ string: String, _ field: EnvelopeError.Field) throws(EnvelopeError) -> String {
    guard string.utf8.count <= InboundEnvelope.maximumIdentifierBytes else { throw tooLong(field) }
    // Identifiers become header values of our own requests; a line break in one would add headers.
    guard string.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw .malformed(field) }
    return string
}

private func tooLong(_ field: EnvelopeError.Field) -> EnvelopeError {
    .tooLong(field, limitBytes: InboundEnvelope.maximumIdentifierBytes)
}
