extension OutboundMessage {
    /// Where a message is posted.
    public enum Endpoint: String, Sendable {
        /// Everything but authentication.
        case message = "/v1/message"
        /// Authentication of either version.
        case authenticate = "/v1/authenticate"
    }

    /// The message's kind; a rich link counts as text, since no customer ever sends one.
    ///
    /// A reference that came as JSON is ``Kind/unrecognized``.
    public var kind: Kind {
        switch body {
        case .text, .files, .richLink, .uploadedLink: .text
        case .quickReply: .quickReply
        case .listPicker: .listPicker
        case .timePicker: .timePicker
        case .form: .form
        case .applePay: .applePay
        case .authentication: .authentication
        case .app: .app
        case .invitation: .invitation
        case .uploadedInteraction(_, let kind), .json(_, let kind): kind
        case .typingStart: .typingStart
        case .typingEnd: .typingEnd
        }
    }

    /// Where the message is posted.
    public var endpoint: Endpoint { kind == .authentication ? .authenticate : .message }

    /// Whether the header `message-type: notification` must be sent with it: invitations only.
    public var isNotification: Bool { kind == .invitation }
}
