internal import BalloonJSON

/// Something that a business says.
///
/// Built by one function per type, so that more types can come without breaking anyone.
public struct OutboundMessage: Hashable, Sendable {
    private enum Body: Hashable, Sendable {
        case text(String)
        case quickReply(QuickReplyRequest)
        case typingStart
        case typingEnd
    }

    private let body: Body

    /// Says a text.
    public static func text(_ text: String) -> OutboundMessage { OutboundMessage(body: .text(text)) }

    /// Asks for one of a few choices.
    public static func quickReply(_ request: QuickReplyRequest) -> OutboundMessage {
        OutboundMessage(body: .quickReply(request))
    }

    /// Shows the customer that someone is writing.
    public static let typingStart = OutboundMessage(body: .typingStart)

    /// Takes ``typingStart`` back; any other message does so too.
    public static let typingEnd = OutboundMessage(body: .typingEnd)

    /// The message's kind.
    public var kind: Kind {
        switch body {
        case .text: .text
        case .quickReply: .quickReply
        case .typingStart: .typingStart
        case .typingEnd: .typingEnd
        }
    }

    /// Writes the body of `POST /v1/message`; the same values always give the same bytes.
    ///
    /// Apple MSP API, "Sending Messages".
    public func encode(id: MessageID, from business: BusinessID, to customer: CustomerID) -> [UInt8] {
        var writer = JSONWriter(reservingCapacity: 512)
        writer.object { writer in
            writer.field("id", id.rawValue)
            writer.field("v", 1)
            writer.field("type", type)
            writer.field("sourceId", business.rawValue)
            writer.field("destinationId", customer.rawValue)
            switch body {
            case .text(let text): writer.field("body", text)
            case .quickReply(let request): request.write(to: &writer, id: id)
            case .typingStart, .typingEnd: break
            }
        }
        return writer.finish()
    }

    private var type: String {
        switch body {
        case .text: "text"
        case .quickReply: "interactive"
        case .typingStart: "typing_start"
        case .typingEnd: "typing_end"
        }
    }
}
