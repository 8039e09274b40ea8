internal import BalloonJSON

/// What a customer did, typed; one case per ``Kind``.
public enum Content: Sendable {
    /// Wrote, maybe with attachments.
    case text(Text)
    /// Chose in a quick reply.
    case quickReply(QuickReply)
    /// Chose in a list picker.
    case listPicker(ListPicker)
    /// Chose a time slot.
    case timePicker(TimePicker)
    /// Answered a form.
    case form(Form)
    /// Signed in, or did not.
    case authentication(Authentication)
    /// Paid, or did not.
    case applePay(ApplePay)
    /// Answered in an iMessage app.
    case app(App)
    /// Answered an invitation.
    case invitation(Invitation)
    /// Began to write.
    case typingStart(TypingStart)
    /// Cleared what was being written.
    case typingEnd(TypingEnd)
    /// Closed the conversation or declined an invitation.
    case close(Close)
    /// Something that is not known here.
    case unrecognized(Unrecognized)

    /// The case's kind.
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

    /// Reads a message's body.
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

    /// Reads an `interactiveData`; what it is shows in the one member of `data` that belongs to its kind.
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
    /// Whether the message belongs to an iMessage app and not to one of Apple's own extensions.
    fileprivate var isOfApp: Bool {
        guard let bid else { return false }
        return !bid.hasSuffix(":com.apple.icloud.apps.messages.business.extension")
    }
}
