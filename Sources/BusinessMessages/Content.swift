internal import BalloonJSON

/// The typed content of a customer's message; one case per ``Kind``.
public enum Content: Sendable {
    /// The customer wrote a text, possibly with attachments.
    case text(Text)
    /// The customer chose a quick reply.
    case quickReply(QuickReply)
    /// The customer chose items of a list picker.
    case listPicker(ListPicker)
    /// The customer chose a time slot.
    case timePicker(TimePicker)
    /// The customer answered a form.
    case form(Form)
    /// The customer signed in, or failed to.
    case authentication(Authentication)
    /// The customer paid, or failed to.
    case applePay(ApplePay)
    /// The customer answered in an iMessage app.
    case app(App)
    /// The customer answered an invitation.
    case invitation(Invitation)
    /// The customer began to write.
    case typingStart(TypingStart)
    /// The customer deleted the unsent text.
    case typingEnd(TypingEnd)
    /// The customer closed the conversation or declined an invitation.
    case close(Close)
    /// A message of an unknown kind.
    case unrecognized(Unrecognized)

    /// The kind that this case belongs to.
    public var kind: Kind {
        switch self {
        case .text: .text
        case .quickReply: .quickReply
        case .listPicker: .listPicker
        case .timePicker: .timePicker
        case .form: .form
        case .authentication: .authentication
        case .applePay: .applePay
        case .app: .app
        case .invitation: .invitation
        case .typingStart: .typingStart
        case .typingEnd: .typingEnd
        case .close: .close
        case .unrecognized: .unrecognized
        }
    }

    /// Decodes the content of a whole message; an unknown one becomes ``unrecognized(_:)``.
    init(_ message: JSONValue) {
        switch message["type"]?.string {
        case "text": self = .text(Text(message))
        case "interactive":
            self =
                message["interactiveData"]?.object.flatMap(Content.init(interactiveData:))
                ?? .unrecognized(.init(message))
        case "typing_start": self = .typingStart(TypingStart())
        case "typing_end": self = .typingEnd(TypingEnd())
        case "close": self = .close(Close(message))
        default: self = .unrecognized(Unrecognized(message))
        }
    }

    /// Decodes an `interactiveData`, whose kind the members of its `data` determine; nil for an unknown kind.
    private init?(interactiveData: JSONValue) {
        let interaction = Interaction(interactiveData)
        if let data = interactiveData["data"]?.object, let content = Content(data: data, interaction) {
            self = content
        } else if interaction.isOfApp || interactiveData["URL"]?.nonEmptyString != nil {
            self = .app(App(interactiveData, interaction))
        } else {
            return nil
        }
    }

    private init?(data: JSONValue, _ interaction: Interaction) {
        if let value = data.first("quick-reply", "quickReply")?.object {
            self = .quickReply(QuickReply(value, interaction))
        } else if let value = data["dynamic"]?.object {
            self = .form(Form(value, interaction))
        } else if let value = data["authenticate"]?.object {
            self = .authentication(Authentication(value, interaction))
        } else if ApplePay.isShown(in: data) {
            self = .applePay(ApplePay(data, interaction))
        } else if let value = data.first("listPicker"), !value.objects.isEmpty {
            self = .listPicker(ListPicker(value, interaction))
        } else if let value = data["event"]?.object ?? data["timePicker"]?.object?["event"]?.object {
            self = .timePicker(TimePicker(value, interaction))
        } else if data["notification"]?.object != nil {
            self = .invitation(Invitation(data, interaction))
        } else {
            return nil
        }
    }
}

extension Interaction {
    /// Whether the message belongs to an iMessage app instead of Apple's own extension.
    fileprivate var isOfApp: Bool {
        guard let bid else { return false }
        return !bid.hasSuffix(":com.apple.icloud.apps.messages.business.extension")
    }
}
