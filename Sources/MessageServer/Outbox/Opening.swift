import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The texts and the link that the server sends before the first automatic message of a new conversation.
///
/// Their ids are derived from the message that began the conversation, so that the store keeps each once, whichever
/// automatic messages bring it at the same time.
struct Opening: Sendable {
    let store: Store
    let configuration: CurrentConfiguration

    /// Returns what comes before the replies to a delivery; usually nothing.
    ///
    /// The store drops those that another automatic message has brought since.
    func messages(before delivery: Delivery) async throws -> [ReceivedMessage] {
        let name = ConversationID(business: delivery.business, customer: delivery.customer)
        let locale = delivery.attributes.locale
        let messages = try await messages(in: name, answering: delivery, locale: locale)
        guard messages.contains(where: { store.holds($0) }) else { return messages }
        // Either it is being stored for another message and is found in the queue now, or it failed earlier and is
        // sent again, with another id.
        await store.finishStoring()
        return try await self.messages(in: name, answering: delivery, isAgain: true, locale: locale)
    }

    /// Makes durable what comes before an automatic message that is no reply of a handler.
    func send(in name: ConversationID) async throws {
        for message in try await messages(in: name, answering: nil, locale: nil) {
            try await store.append(message)
        }
    }

    private func messages(
        in name: ConversationID, answering delivery: Delivery?, isAgain: Bool = false, locale: String?
    ) async throws -> [ReceivedMessage] {
        guard let opening = configuration.setting(\.opening, of: name.business), !opening.isSilent else {
            return []
        }
        let silence = configuration.silence(of: name.business)
        return try await onDisk { [store] in
            let found = try store.unopenedConversation(
                of: name.business, name.customer, answering: delivery, silence: silence)
            guard let found else { return [] }
            let locale = try locale ?? store.lastLocale(of: name.business, name.customer)
            let record = isAgain ? delivery?.record : nil
            return replies(
                opening, found.begins, record ?? found.record, in: name, locale: locale, isAgain: isAgain
            ).map { ReceivedMessage($0, in: name) }
        }
    }

    /// Returns what comes before the first automatic message of a conversation that begins with a message.
    ///
    /// With `isAgain`, it failed before, and comes before the reply to that message.
    func replies(
        _ opening: OpeningConfiguration, _ begins: NewConversation, _ record: UInt64, in name: ConversationID,
        locale: String?, isAgain: Bool = false
    ) -> [DecidedReply] {
        let suffix = isAgain ? "Again" : ""
        var replies: [DecidedReply] = []
        if let text = opening.disclosure?.text(for: locale) {
            replies.append(reply(.text(text), "disclosure" + suffix, about: record, in: name))
        }
        if let terms = opening.terms, begins.lastContact == nil {
            replies.append(reply(.richLink(terms), "terms" + suffix, about: record, in: name))
        }
        return replies
    }

    /// Returns a message of the server, whose id is derived from its purpose and the customer's message.
    func reply(
        _ message: OutboundMessage, _ purpose: String, about record: UInt64, in name: ConversationID
    ) -> DecidedReply {
        let id = AssignmentWatch.id(of: purpose, about: record, in: name, of: store.identity)
        return DecidedReply(message, as: id, in: name, by: .server)
    }
}
