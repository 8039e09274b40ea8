public import BalloonJSON

/// One thing that a customer did, as values.
///
/// A view of the message: what no field shows is still in ``message``, unchanged.
public struct InboundEvent: Sendable {
    /// The message's identity.
    public let id: MessageID
    /// The receiver.
    public let business: BusinessID
    /// The sender.
    public let customer: CustomerID
    /// What the customer did.
    public let content: Content
    /// What came with it.
    public let attributes: MessageAttributes
    /// The message as it arrived, its payload reference resolved.
    public let message: JSONValue

    /// What kind of thing the customer did.
    public var kind: Kind { content.kind }

    /// Which bound the message exceeds, so that its parts are not read; nil for any other.
    package var excess: String? {
        if case .unrecognized(let unrecognized) = content { unrecognized.excess } else { nil }
    }

    /// Reads a message; never fails, because what is not known becomes ``Content/unrecognized(_:)``, and so does what
    /// has more parts than are read: 100 attachments, 1,000 elements of another list, 10,000 members of an object or
    /// 10,000 selections of a form.
    ///
    /// Identifiers that are not given are the body's, empty where it has none; so are attributes, which then
    /// have no capabilities.
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
