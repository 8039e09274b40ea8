internal import BalloonJSON

/// A message of a business.
///
/// One static function for each type creates it, so that later versions can add types without breaking callers.
public struct OutboundMessage: Hashable, Sendable {
    indirect enum Body: Hashable, Sendable {
        case text(String, [OutboundAttachment])
        case files(String, [OutboundFile])
        case richLink(RichLink)
        case quickReply(QuickReplyRequest)
        case listPicker(ListPickerRequest)
        case timePicker(TimePickerRequest)
        case form(FormRequest)
        case applePay(ApplePayRequest)
        case authentication(AuthenticationRequest)
        case signIn(SignInRequest)
        case payment(PaymentRequest)
        case app(AppRequest)
        case invitation(InvitationRequest)
        case uploadedInteraction(UploadedPayload, Kind)
        case uploadedLink(UploadedPayload)
        case json(members: [UInt8], kind: Kind)
        case typingStart
        case typingEnd
    }

    private(set) var body: Body
    private var attributes = MessageAttributes()
    /// The text that the server sends instead of the message to a device that cannot show it.
    ///
    /// In JSON it is the member `fallback`, which Apple never receives.
    public internal(set) var fallback: String?
    /// Whether the content is the same for all customers.
    ///
    /// The server then derives the `requestIdentifier` from the content, so that Apple stores the content only once. In
    /// JSON it is the member `reusable`, which Apple never receives.
    public internal(set) var isReusable = false

    /// Why a program writes to a customer who has not written lately: `account` or `marketing`.
    ///
    /// The business's `notices` need it. In JSON it is the member `purpose`, which Apple never receives.
    public internal(set) var purpose: String?

    init(_ body: Body, reusable: Bool = false) {
        self.body = body
        isReusable = reusable
    }

    /// Creates a text.
    public static func text(_ text: String) -> OutboundMessage { OutboundMessage(.text(text, [])) }

    /// Creates a text with uploaded files; U+FFFC in the text marks the place of each file.
    ///
    /// Files without a marker are placed at the end.
    public static func text(_ text: String, attachments: [OutboundAttachment]) -> OutboundMessage {
        OutboundMessage(.text(marked(text, attachments.count), attachments))
    }

    /// Creates a text with local files, which the server uploads; U+FFFC in the text marks the place of each
    /// file.
    ///
    /// Files without a marker are placed at the end.
    public static func text(_ text: String, files: [OutboundFile]) -> OutboundMessage {
        files.isEmpty ? .text(text) : OutboundMessage(.files(marked(text, files.count), files))
    }

    private static func marked(_ text: String, _ count: Int) -> String {
        let marked = text.unicodeScalars.count { $0 == "\u{FFFC}" }
        return text + String(repeating: "\u{FFFC}", count: max(0, count - marked))
    }

    /// The local files that must be uploaded before the message is sent.
    package var files: [OutboundFile] { if case .files(_, let files) = body { files } else { [] } }

    /// Whether the message names local files.
    package var hasFiles: Bool { !files.isEmpty }

    /// Creates a link to a web page.
    public static func richLink(_ link: RichLink) -> OutboundMessage { OutboundMessage(.richLink(link)) }

    /// Creates a link to an App Clip, a song or a place, whose preview Apple's `constructPayload` returned.
    public static func richLink(_ payload: UploadedPayload) -> OutboundMessage {
        OutboundMessage(.uploadedLink(payload))
    }

    /// Asks the customer to choose one of a few items; for `reusable` see ``isReusable``.
    public static func quickReply(_ request: QuickReplyRequest, reusable: Bool = false) -> OutboundMessage {
        OutboundMessage(.quickReply(request), reusable: reusable)
    }

    /// Asks the customer to choose items of a list; for `reusable` see ``isReusable``.
    public static func listPicker(_ request: ListPickerRequest, reusable: Bool = false) -> OutboundMessage {
        OutboundMessage(.listPicker(request), reusable: reusable)
    }

    /// Asks the customer to choose a time; for `reusable` see ``isReusable``.
    public static func timePicker(_ request: TimePickerRequest, reusable: Bool = false) -> OutboundMessage {
        OutboundMessage(.timePicker(request), reusable: reusable)
    }

    /// Asks the customer to fill in a form; for `reusable` see ``isReusable``.
    public static func form(_ request: FormRequest, reusable: Bool = false) -> OutboundMessage {
        OutboundMessage(.form(request), reusable: reusable)
    }

    /// Asks for a payment.
    public static func applePay(_ request: ApplePayRequest) -> OutboundMessage {
        OutboundMessage(.applePay(request))
    }

    /// Asks the customer to sign in.
    public static func authentication(_ request: AuthenticationRequest) -> OutboundMessage {
        OutboundMessage(.authentication(request))
    }

    /// Asks the customer to sign in; the server exchanges the code, and the handler gets a verified identity.
    ///
    /// In JSON it is `{"signIn": {…}}`. The business needs `authentication` in its configuration file.
    public static func signIn(_ request: SignInRequest) -> OutboundMessage {
        OutboundMessage(.signIn(request))
    }

    /// Asks for a payment; the server does everything except charging the customer.
    ///
    /// In JSON it is `{"payment": {…}}`. The business needs `applePay` in its configuration file, and a
    /// handler for the payment gateway, which charges the customer.
    public static func payment(_ request: PaymentRequest) -> OutboundMessage {
        OutboundMessage(.payment(request))
    }

    /// Shows a bubble of an iMessage app.
    public static func app(_ request: AppRequest) -> OutboundMessage { OutboundMessage(.app(request)) }

    /// Asks a person for permission to write.
    public static func invitation(_ request: InvitationRequest) -> OutboundMessage {
        OutboundMessage(.invitation(request))
    }

    /// Creates an interactive message from content that Apple already stores; `kind` is the original kind.
    public static func uploaded(_ payload: UploadedPayload, kind: Kind) -> OutboundMessage {
        OutboundMessage(.uploadedInteraction(payload, kind))
    }

    /// Shows the customer that the business is typing.
    public static let typingStart = OutboundMessage(.typingStart)

    /// Shows the customer that the business stopped typing; every other message has this effect too.
    public static let typingEnd = OutboundMessage(.typingEnd)

    /// Returns the same message with `locale`, `intent` and `group` in its envelope.
    public func labelled(
        locale: String? = nil, intent: String? = nil, group: String? = nil
    ) -> OutboundMessage {
        var message = self
        message.attributes = MessageAttributes(locale: locale, intent: intent, group: group)
        return message
    }

    /// Returns the same message with a text, which the server sends instead to a device that cannot show the
    /// message.
    public func orText(_ text: String) -> OutboundMessage {
        var message = self
        message.fallback = text
        return message
    }

    /// Returns the same message with a ``purpose``: `account`, `marketing` or the identifier of a type of the `notices`.
    public func withPurpose(_ purpose: String) -> OutboundMessage {
        var message = self
        message.purpose = purpose
        return message
    }

    /// Returns this message, or its ``fallback`` as a text when the customer's device cannot show the
    /// message.
    ///
    /// Throws when the device cannot show the message and there is no fallback.
    public func showable(on capabilities: Capabilities) throws(UnsupportedMessage) -> OutboundMessage {
        // Return early for a text: most replies are texts, and every device shows them.
        if kind == .text { return self }
        do {
            try require(capabilities)
            return self
        } catch {
            guard let fallback, !fallback.isEmpty else { throw error }
            var text = OutboundMessage.text(fallback)
            text.attributes = attributes
            text.purpose = purpose
            return text
        }
    }

    /// Returns the same as ``showable(on:)``, except for a ``signIn(_:)`` and a device with
    /// ``Capability/authentication`` but without ``Capability/authentication2``.
    ///
    /// Such a device gets the request to sign in as version 1, if `allowsClassicSignIn` says that the server
    /// can decrypt the device's token.
    package func showable(
        on capabilities: Capabilities, allowsClassicSignIn: Bool
    ) throws(UnsupportedMessage) -> OutboundMessage {
        guard allowsClassicSignIn, case .signIn(var request) = body,
            capabilities.contains(.authentication), !capabilities.contains(.authentication2)
        else { return try showable(on: capabilities) }
        request.isClassic = true
        var message = self
        message.body = .signIn(request)
        return message
    }

    /// Writes the body of `POST /v1/message`; the same values always produce the same bytes.
    ///
    /// Apple MSP API, "Sending Messages".
    public func encode(id: MessageID, from business: BusinessID, to customer: CustomerID) -> [UInt8] {
        json(envelope: (id, business, customer), forServer: false)
    }

    /// Writes the body for the server that will send the message, with the members ``fallback`` and
    /// ``isReusable``.
    package func encodeForServer(from business: BusinessID, to customer: CustomerID) -> [UInt8] {
        json(envelope: (.random(), business, customer), forServer: true)
    }

    /// Writes the message without the members that the server adds: `id`, `v`, `sourceId` and
    /// `destinationId`.
    ///
    /// When the request has no identifier, `requestIdentifier` is written as an empty string.
    package func draft() -> [UInt8] {
        json(envelope: nil, forServer: true)
    }

    private func json(
        envelope: (id: MessageID, business: BusinessID, customer: CustomerID)?, forServer: Bool
    ) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 512) { writer in
            if forServer {
                writer.field("fallback", fallback)
                if isReusable { writer.field("reusable", true) }
                writer.field("purpose", purpose)
                if writeRequest(to: &writer) { return }
            }
            if let envelope {
                writer.field("id", envelope.id.rawValue)
                writer.field("v", 1)
            }
            writer.field("type", type)
            writer.field("sourceId", envelope?.business.rawValue)
            writer.field("destinationId", envelope?.customer.rawValue)
            writeLabels(to: &writer)
            writeBody(to: &writer, id: envelope?.id ?? MessageID(""))
        }
    }

    /// Writes a ``SignInRequest`` or a ``PaymentRequest`` in its own JSON format, with the message's labels.
    ///
    /// Returns false, without writing anything, for any other message.
    private func writeRequest(to writer: inout JSONWriter) -> Bool {
        let request: JSONObject
        switch body {
        case .signIn(let signIn): request = ["signIn": signIn.object]
        case .payment(let payment): request = ["payment": payment.object]
        default: return false
        }
        writeLabels(to: &writer)
        writer.fields(request)
        return true
    }

    private func writeLabels(to writer: inout JSONWriter) {
        writer.field("locale", attributes.locale)
        writer.field("intent", attributes.intent)
        writer.field("group", attributes.group)
    }

    private func writeBody(to writer: inout JSONWriter, id: MessageID) {
        switch body {
        case .text(let text, let attachments):
            writer.field("body", text)
            if !attachments.isEmpty { writer.list("attachments", attachments) { $0.write(to: &$1) } }
        case .files(let text, let files):
            writer.field("body", text)
            writer.list("attachments", files) { $0.write(to: &$1) }
        case .richLink(let link): link.write(to: &writer)
        case .quickReply(let request): request.write(to: &writer, id: id)
        case .listPicker(let request): request.write(to: &writer, id: id)
        case .timePicker(let request): request.write(to: &writer, id: id)
        case .form(let request): request.write(to: &writer, id: id)
        case .applePay(let request): request.write(to: &writer, id: id)
        case .authentication(let request): request.write(to: &writer, id: id)
        case .signIn(let request): request.writeMessage(to: &writer, id: id)
        case .payment(let request): request.writeMessage(to: &writer, id: id)
        case .app(let request): request.write(to: &writer)
        case .invitation(let request): request.write(to: &writer, id: id)
        case .uploadedInteraction(let payload, _):
            writer.raw("interactiveDataRef", payload.json)
        case .uploadedLink(let payload):
            writer.raw("richLinkDataRef", payload.json)
        case .json(let members, _): writer.raw(members)
        case .typingStart, .typingEnd: break
        }
    }

    /// The body's `type`; `nil` for a message from JSON, whose members already include it.
    private var type: String? {
        switch body {
        case .json: nil
        case .text, .files: "text"
        case .richLink, .uploadedLink: "richLink"
        case .quickReply, .listPicker, .timePicker, .form, .applePay, .authentication, .signIn,
            .payment, .app, .invitation, .uploadedInteraction:
            "interactive"
        case .typingStart: "typing_start"
        case .typingEnd: "typing_end"
        }
    }
}
