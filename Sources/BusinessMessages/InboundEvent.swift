public import BalloonJSON

/// One message of a customer, decoded to typed values.
///
/// Members of the JSON that have no typed value are available in ``message``, unchanged.
public struct InboundEvent: Sendable {
    /// The message's identity.
    public let id: MessageID
    /// The business that receives the message.
    public let business: BusinessID
    /// The customer who sent the message.
    public let customer: CustomerID
    /// The typed content.
    public let content: Content
    /// The attributes besides the content.
    public let attributes: MessageAttributes
    /// The message as received, but with the content itself in place of a payload reference.
    public let message: JSONValue

    /// The kind of the content.
    public var kind: Kind { content.kind }

    /// The files of a text or of an interactive message, in the order of the message.
    public var attachments: [Attachment] {
        switch content {
        case .text(let text): text.attachments
        case .typingStart, .typingEnd, .close: []
        case .unrecognized(let unrecognized) where unrecognized.excess != nil: []
        case .quickReply, .listPicker, .timePicker, .form, .authentication, .applePay, .app, .invitation,
            .unrecognized:
            (message["attachments"]?.objects ?? []).map { Attachment($0, place: nil) }
        }
    }

    /// The limit that the message exceeds, because of which its parts were not decoded; nil when it exceeds
    /// none.
    package var excess: String? {
        if case .unrecognized(let unrecognized) = content { unrecognized.excess } else { nil }
    }

    /// Decodes a message and never fails.
    ///
    /// Unknown messages become ``Content/unrecognized(_:)``. So do messages with too many parts: over 100
    /// attachments, 1,000 elements of another list, 10,000 members of an object, or 10,000 selections of a
    /// form or list picker. Identifiers that the caller omits are read from the body, and are empty when the
    /// body has none. Attributes that the caller omits are read from the body too; the capabilities are then
    /// empty.
    public static func decode(
        message: JSONDocument,
        id: MessageID? = nil,
        business: BusinessID? = nil,
        customer: CustomerID? = nil,
        attributes: MessageAttributes? = nil
    ) -> InboundEvent {
        let body = message.root
        return InboundEvent(
            id: id ?? MessageID(body["id"]?.scalarString ?? ""),
            business: business ?? BusinessID(body["destinationId"]?.scalarString ?? ""),
            customer: customer ?? CustomerID(body["sourceId"]?.scalarString ?? ""),
            content: MessageBounds.standard.violation(of: body).map {
                .unrecognized(Unrecognized(body, excess: $0))
            } ?? Content(body),
            attributes: attributes ?? .read(document: message),
            message: body)
    }
}
