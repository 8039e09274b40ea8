import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore

/// Records and confirms the consent of customers, and refuses messages of programs to which a customer has not agreed.
///
/// Only for businesses whose file has `notices`.
struct Notices: Sendable {
    let store: Store
    let settings: @Sendable (BusinessID) -> NoticesConfiguration?

    init(_ store: Store, _ configuration: CurrentConfiguration) {
        self.store = store
        settings = { configuration.setting(\.notices, of: $0) ?? nil }
    }

    /// Apple MSP policy, "Notices": this sentence must be sent before the first message about an account.
    static let accountSentence =
        "We will send important notifications related to your account status or transactions. "
        + "Send 'Unsubscribe' to manage your message preferences."

    /// The customer's answer in an event: a word, or a choice in the list of types; nil for another event.
    func answer(in event: InboundEvent, at: Timestamp) -> Consent? {
        guard let notices = settings(event.business) else { return nil }
        switch event.content {
        case .text(let text):
            let isWithdrawal = notices.withdrawalWords.match(event)
            guard isWithdrawal || notices.words.match(event) else { return nil }
            return Consent(
                isGiven: !isWithdrawal, at: at, words: text.plainBody.shortened(toBytes: 100), types: [])
        case .listPicker(let picker)
        where picker.interaction.requestIdentifier == Self.request(event.business, event.customer).rawValue:
            let chosen = Set(picker.sections.flatMap(\.items).compactMap(\.identifier))
            let types = notices.types.map(\.id).filter(chosen.contains)
            return types.isEmpty ? nil : Consent(isGiven: true, at: at, words: nil, types: types)
        default: return nil
        }
    }

    /// Begins to record the answer in a message that was just recorded; the delivery repeats it if it fails.
    func record(_ event: InboundEvent, of message: UnrecordedMessage) {
        guard let consent = answer(in: event, at: message.receivedAt) else { return }
        store.beginRecording(
            .consent(consent), by: .server, as: Self.record(of: event), of: event.business, event.customer)
    }

    /// Records the answer in an event; false when the event has none, so that its handler gets it.
    func record(_ event: InboundEvent, of delivery: Delivery) async throws -> Bool {
        guard !delivery.isInternal, !delivery.isReplay, !delivery.isReplyFailure,
            let consent = answer(in: event, at: delivery.receivedAt)
        else { return false }
        try await store.record(
            .consent(consent), by: .server, as: Self.record(of: event), of: event.business, event.customer)
        return true
    }

    /// Sends the confirmation of a recorded answer, once for each; blocks while it reads the conversation.
    func confirm(_ message: [UInt8], _ id: MessageID, of business: BusinessID, _ customer: CustomerID) throws
    {
        guard let notices = settings(business), let consent = Consent(message: message),
            consent.types.isEmpty
        else { return }
        let locale = try store.lastLocale(of: business, customer)
        let text = (consent.isGiven ? notices.text : notices.withdrawnText).text(for: locale)
        var reply = Reply.text(text)
        if consent.isGiven, !notices.types.isEmpty {
            let capabilities = try store.lastCapabilities(of: business, customer).map {
                Capabilities(parsing: $0)
            }
            let picker = Self.picker(text, notices.types, Self.request(business, customer)).orText(text)
            // It has a text for other devices, so that no device refuses it.
            reply = capabilities.flatMap { try? picker.showable(on: $0) } ?? reply
        }
        let id = Self.id("confirmation", [id.rawValue], business, customer)
        store.append(
            ReceivedMessage(
                business: business, customer: customer, id: id,
                message: reply.encodeToSend(id: id, from: business, to: customer), outboundKind: reply.kind,
                author: .server)
        ) { _ in }
    }

    private static func picker(
        _ title: String, _ types: [NoticesConfiguration.MessageType], _ request: MessageID
    ) -> OutboundMessage {
        let items = types.map { ListPickerRequest.Item($0.id, title: $0.title) }
        var presentation = Presentation(title)
        presentation.requestIdentifier = request.rawValue
        return .listPicker(
            ListPickerRequest(
                [ListPickerRequest.Section(title, allowsMultipleSelection: true, items: items)],
                presentation: presentation))
    }

    /// Returns why a program may not send a message now; nil when it may.
    ///
    /// Blocks while it reads the conversation.
    func refusal(
        of purpose: String?, _ kind: Kind?, by author: MessageAuthor, _ business: BusinessID,
        _ customer: CustomerID, at now: Timestamp = .now()
    ) throws -> NoConsent? {
        guard let notices = settings(business), !author.isPerson, author != .server,
            kind != .authentication, kind != .applePay,
            let last = try store.lastMessageTime(of: business, customer),
            last.advanced(by: notices.activeTime) < now
        else { return nil }
        let consent = try store.details(of: business, customer).consent
        switch purpose.flatMap(NoticePurpose.init) {
        case nil: return .purposeMissing
        case .account?:
            if consent?.isGiven == false { return .withdrawn }
            return try store.hasSent(Self.accountSentence, to: customer, of: business)
                ? nil : .sentenceMissing
        case .marketing?:
            guard let consent else { return .notGiven }
            guard consent.isGiven else { return .withdrawn }
            return notices.lapseTime.map { consent.at.advanced(by: $0) < now } ?? false ? .lapsed : nil
        }
    }

    /// The `requestIdentifier` of the list of types, by which the customer's choice is known.
    static func request(_ business: BusinessID, _ customer: CustomerID) -> MessageID {
        id("types", [], business, customer)
    }

    private static func record(of event: InboundEvent) -> MessageID {
        id("answer", [event.id.rawValue], event.business, event.customer)
    }

    private static func id(
        _ purpose: String, _ more: [String], _ business: BusinessID, _ customer: CustomerID
    ) -> MessageID {
        let parts = (["notices", purpose, business.rawValue, customer.rawValue] + more).map {
            "\($0.utf8.count):\($0)"
        }
        return MessageID(derivedFrom: Array(parts.joined().utf8))
    }
}

/// The reason why a program's message to a customer who has not written lately is refused.
package enum NoConsent: String, Error, Sendable {
    /// The message names no `purpose`; name one.
    case purposeMissing
    /// The customer never agreed to offers; wait until the customer writes "subscribe".
    case notGiven
    /// The customer withdrew; send nothing until the customer agrees again.
    case withdrawn
    /// The consent is older than `lapsesAfterDays`.
    case lapsed
    /// Apple's sentence about notices was never sent; send it while the customer is active.
    case sentenceMissing

    /// The reason and what to do, in one line.
    package var reason: String {
        switch self {
        case .purposeMissing:
            "the customer has not written lately: name the \"purpose\" account or marketing"
        case .notGiven: "the customer has not agreed to such messages"
        case .withdrawn: "the customer wants no more messages"
        case .lapsed: "the customer's consent has lapsed"
        case .sentenceMissing:
            "Apple's sentence about notices was not sent to the customer before: send it after a message of the customer"
        }
    }
}
