import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The texts and the link that the server sends before the first automatic message of a new conversation.
///
/// Their ids are derived from the message that began the conversation, so that each exists once.
struct Opening: Sendable {
    let store: Store
    let configuration: CurrentConfiguration

    /// Returns what comes before the replies to a delivery; usually nothing.
    func replies(before delivery: Delivery) async throws -> [DecidedReply] {
        let name = ConversationID(business: delivery.business, customer: delivery.customer)
        return try await replies(in: name, answering: delivery, locale: delivery.attributes.locale)
    }

    /// Makes durable what comes before an automatic message that is no reply of a handler.
    func send(in name: ConversationID) async throws {
        for reply in try await replies(in: name, answering: nil, locale: nil) {
            try await store.append(ReceivedMessage(reply, in: name))
        }
    }

    private func replies(
        in name: ConversationID, answering delivery: Delivery?, locale: String?
    ) async throws -> [DecidedReply] {
        guard let opening = configuration.setting(\.opening, of: name.business), !opening.isSilent else {
            return []
        }
        let silence = configuration.silence(of: name.business)
        return try await onDisk { [store] in
            let found = try store.unopenedConversation(
                of: name.business, name.customer, answering: delivery, silence: silence)
            guard let found else { return [] }
            let locale = try locale ?? store.lastLocale(of: name.business, name.customer)
            return replies(opening, found.begins, found.record, in: name, locale: locale)
        }
    }

    /// Returns what comes before the first automatic message of a conversation that begins with a message.
    func replies(
        _ opening: OpeningConfiguration, _ begins: NewConversation, _ record: UInt64, in name: ConversationID,
        locale: String?
    ) -> [DecidedReply] {
        var replies: [DecidedReply] = []
        if let text = opening.disclosure?.text(for: locale) {
            replies.append(reply(.text(text), "disclosure", about: record, in: name))
        }
        if let terms = opening.terms, begins.lastContact == nil {
            replies.append(reply(.richLink(terms), "terms", about: record, in: name))
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
