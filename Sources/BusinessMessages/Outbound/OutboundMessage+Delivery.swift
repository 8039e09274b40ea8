extension OutboundMessage {
    /// The gateway's endpoint for a message.
    public enum Endpoint: String, Sendable {
        /// All messages except authentication requests.
        case message = "/v1/message"
        /// Authentication requests of either version.
        case authenticate = "/v1/authenticate"
    }

    /// The message's kind; a rich link counts as a text, since ``Kind`` names what customers send.
    ///
    /// It is ``Kind/unrecognized`` for a message from JSON whose content is a reference.
    public var kind: Kind {
        switch body {
        case .text, .files, .richLink, .uploadedLink: .text
        case .quickReply: .quickReply
        case .listPicker: .listPicker
        case .timePicker: .timePicker
        case .form: .form
        case .applePay, .payment: .applePay
        case .authentication, .signIn: .authentication
        case .app: .app
        case .invitation: .invitation
        case .uploadedInteraction(_, let kind), .json(_, let kind): kind
        case .typingStart: .typingStart
        case .typingEnd: .typingEnd
        }
    }

    /// The gateway's endpoint for this message.
    public var endpoint: Endpoint { kind == .authentication ? .authenticate : .message }

    /// Whether the message needs the header `message-type: notification`: invitations only.
    public var isNotification: Bool { kind == .invitation }
}
