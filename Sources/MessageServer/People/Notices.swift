import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore

/// Records what customers answer to the server itself, confirms their consent, and refuses messages of programs to which a
/// customer has not agreed.
///
/// Consent is only for businesses whose file has `notices`. The other answer is that to the survey.
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

    /// The customer's answer in an event: a score, a word, or a choice in the list of types; nil for another event.
    func answer(in event: InboundEvent, at: Timestamp) -> InternalMessage? {
        if case .quickReply(let reply) = event.content, reply.interaction.isAnswer(to: .survey, event) {
            // The customer's device sends the index, which may be any number.
            let score =
                reply.selectedIdentifier.flatMap { Int($0) } ?? reply.selectedIndex.map { $0 &+ 1 }
            return score.flatMap { Survey.scores.contains($0) ? .survey($0) : nil }
        }
        return consent(in: event, at: at).map { .consent($0) }
    }

    private func consent(in event: InboundEvent, at: Timestamp) -> Consent? {
        guard let notices = settings(event.business) else { return nil }
        switch event.content {
        case .text(let text):
            let isWithdrawal = notices.withdrawalWords.match(event)
            guard isWithdrawal || notices.words.match(event) else { return nil }
            return Consent(
                isGiven: !isWithdrawal, at: at, words: text.plainBody.shortened(toBytes: 100), types: [])
        case .listPicker(let picker) where picker.interaction.isAnswer(to: .types, event):
            let chosen = Set(picker.sections.flatMap(\.items).compactMap(\.identifier))
            let types = notices.types.map(\.id).filter(chosen.contains)
            return types.isEmpty ? nil : Consent(isGiven: true, at: at, words: nil, types: types)
        default: return nil
        }
    }

    /// Begins to record the answer in a message that was just recorded; the delivery repeats it if it fails.
    func record(_ event: InboundEvent, of message: UnrecordedMessage) {
        // A choice whose customer is not known now is recorded by the delivery.
        guard let answer = answer(in: event, at: message.receivedAt),
            (try? isTooLate(answer, event)) == false
        else { return }
        store.beginRecording(
            answer, by: .server, as: Self.record(of: event), of: event.business, event.customer)
    }

    /// Records the answer in an event; false when the event has none, so that its handler gets it.
    func record(_ event: InboundEvent, of delivery: Delivery) async throws -> Bool {
        guard !delivery.isInternal, !delivery.isReplay, !delivery.isReplyFailure,
            let answer = answer(in: event, at: delivery.receivedAt)
        else { return false }
        if try await onDisk({ try isTooLate(answer, event) }) { return true }
        try await store.record(
            answer, by: .server, as: Self.record(of: event), of: event.business, event.customer)
        return true
    }

    /// Whether the answer is a choice in an older list of types after a withdrawal, which only the customer's word ends.
    private func isTooLate(_ answer: InternalMessage, _ event: InboundEvent) throws -> Bool {
        guard case .consent(let consent) = answer, !consent.types.isEmpty else { return false }
        return try store.details(of: event.business, event.customer).consent?.isGiven == false
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
            let picker = Self.picker(text, notices.types, ServerQuestion.types.request(business, customer))
                .orText(text)
            // It has a text for other devices, so that no device refuses it.
            reply = capabilities.flatMap { try? picker.showable(on: $0) } ?? reply
        }
        let id = Self.id("confirmation", [id.rawValue], business, customer)
        let name = ConversationID(business: business, customer: customer)
        let confirmation = DecidedReply(reply, as: id, in: name, by: .server)
        store.append(ReceivedMessage(confirmation, in: name)) { _ in }
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
    /// After a withdrawal no message with a purpose may be sent. Blocks while it reads the conversation.
    func refusal(
        of purpose: String?, _ kind: Kind?, by author: MessageAuthor, _ business: BusinessID,
        _ customer: CustomerID, at now: Timestamp = .now()
    ) throws -> NoConsent? {
        guard let notices = settings(business), !author.isPerson, author != .server,
            kind != .authentication, kind != .applePay
        else { return nil }
        let consent = try store.details(of: business, customer).consent
        if purpose != nil, consent?.isGiven == false { return .withdrawn }
        // A customer without a message is invited by a telephone number, or the message was too old to keep.
        let last = try store.lastMessageTime(of: business, customer)
        let mayBeInvited = customer.rawValue.hasPrefix("tel:")
        if last.map({ $0.advanced(by: notices.activeTime) >= now }) ?? mayBeInvited { return nil }
        switch purpose {
        case NoticesConfiguration.accountPurpose?:
            return try store.hasSent(Self.accountSentence, to: customer, of: business)
                ? nil : .sentenceMissing
        case let type?
        where type == NoticesConfiguration.marketingPurpose || notices.types.contains { $0.id == type }:
            guard let consent else { return .notGiven }
            if let time = notices.lapseTime, consent.at.advanced(by: time) < now { return .lapsed }
            let isChosen = consent.types.isEmpty || consent.types.contains(type)
            return isChosen || type == NoticesConfiguration.marketingPurpose ? nil : .typeNotChosen
        default: return .purposeMissing
        }
    }

    private static func record(of event: InboundEvent) -> MessageID {
        id("answer", [event.id.rawValue], event.business, event.customer)
    }

    private static func id(
        _ purpose: String, _ more: [String], _ business: BusinessID, _ customer: CustomerID
    ) -> MessageID {
        MessageID(derivedFrom: ["notices", purpose, business.rawValue, customer.rawValue] + more)
    }
}

extension Interaction {
    fileprivate func isAnswer(to question: ServerQuestion, _ event: InboundEvent) -> Bool {
        requestIdentifier == question.request(event.business, event.customer).rawValue
    }
}

/// The reason why a program's message to a customer who has not written lately is refused.
package enum NoConsent: String, Error, Sendable {
    /// The message names no `purpose`, or none that the business's file knows; name one.
    case purposeMissing
    /// The customer never agreed to offers; wait until the customer writes "subscribe".
    case notGiven
    /// The customer withdrew; send nothing until the customer agrees again.
    case withdrawn
    /// The consent is older than `lapsesAfterDays`.
    case lapsed
    /// The customer chose other types of messages; send none of this type.
    case typeNotChosen
    /// Apple's sentence about notices was never sent; send it while the customer is active.
    case sentenceMissing

    /// The reason and what to do, in one line.
    package var reason: String {
        switch self {
        case .purposeMissing:
            "the customer has not written lately: name the \"purpose\" account, marketing or a type of \"notices\""
        case .notGiven: "the customer has not agreed to such messages"
        case .withdrawn: "the customer wants no more messages"
        case .lapsed: "the customer's consent has lapsed"
        case .typeNotChosen: "the customer has not chosen this type of messages"
        case .sentenceMissing:
            "Apple's sentence about notices was not sent to the customer before: send it after a message of the customer"
        }
    }
}
