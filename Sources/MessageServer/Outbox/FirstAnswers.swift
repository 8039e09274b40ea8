import BalloonPOSIX
import BusinessMessages
import MessageStore

/// Answers the first message of a conversation when its handler takes its time: `firstAnswer` of a business's file.
///
/// The delivery and its attempts stay as they are, and the handler's answer follows. A restart schedules the
/// answers of unfinished messages again; their ids are derived from the message, so that none is sent twice.
struct FirstAnswers: Sendable {
    let opening: Opening
    var timer: TypingIndicators.Timer = TypingIndicators.dispatchTimer()

    /// The age of the customer's message after which the text is not sent any more.
    static let lifetime = Duration.seconds(30)

    /// Schedules the text for a message that begins a conversation.
    func schedule(_ message: UnrecordedMessage, beginning begins: NewConversation) {
        let configuration = opening.configuration
        guard let settings = configuration.setting(\.opening, of: message.business),
            let answer = settings.firstAnswer, !message.isDecided
        else { return }
        let until = message.receivedAt.advanced(by: Self.lifetime)
        let name = ConversationID(business: message.business, customer: message.customer)
        let locale = message.attributes.locale
        let before = opening.replies(settings, begins, message.record, in: name, locale: locale)
        let text = opening.reply(
            .text(answer.text.text(for: locale)), "firstAnswer", about: message.record, in: name)
        // The customer sees that somebody types before the time, and the first message at the time.
        let pause = (before.first ?? text).typingTime(of: message.business, configuration) ?? .zero
        let due = message.receivedAt.advanced(by: max(.zero, answer.after - pause))
        guard .now() < until else { return }
        let messages =
            before.map { ReceivedMessage($0, in: name) } + [ReceivedMessage(text, in: name, until: until)]
        timer(.milliseconds(max(0, due.milliseconds - Timestamp.now().milliseconds))) {
            [store = opening.store, record = message.record] in
            if Timestamp.now() < until { store.answerBeforeHandler(record, with: messages) }
        }
    }
}

extension DecidedReply {
    /// The time for which the customer sees that somebody types before this message; nil for none.
    func typingTime(of business: BusinessID, _ configuration: CurrentConfiguration) -> Duration? {
        guard configuration.pausesReplies else { return nil }
        return configuration.setting(\.replies.typing, of: business)??.length(before: self)
    }
}
