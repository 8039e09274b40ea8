import BusinessMessages
import MessageStore
import Simulator

/// The newest interactive message of a business that a customer has not answered.
enum OpenOffer {
    /// A message of the customer or of the business, reduced to what the search needs.
    private struct Said {
        let id: MessageID
        let isFromCustomer: Bool
        let message: JSONValue
    }

    /// Finds the newest unanswered question; nil when the business asked nothing, or every question is answered.
    ///
    /// Reads the data directory and asks the simulated gateway. The gateway loses its messages at a restart, and the
    /// data directory is unknown for some servers.
    static func newest(
        for customer: SimulatedCustomer, data: String?
    ) async throws -> DeviceOffer? {
        var said = try data.map { try conversation(of: customer, data: $0) } ?? []
        let known = Set(said.map(\.id))
        if customer.hasGateway {
            said += try await customer.replies().filter {
                !known.contains($0.id) && $0.business == customer.business
            }
            .map { Said(id: $0.id, isFromCustomer: false, message: $0.message.root) }
        }
        return newest(in: said)
    }

    private static func newest(in said: [Said]) -> DeviceOffer? {
        var answered: Set<String> = []
        for one in said.reversed() {
            guard !one.isFromCustomer else {
                answered.formUnion(answeredNames(one.message))
                continue
            }
            // Skip a message that asks nothing, or whose content only a device can decode.
            guard let document = try? JSONDocument(Array(one.message.text)),
                let offer = try? DeviceOffer(document)
            else { continue }
            let names = [offer.requestIdentifier, offer.session, offer.reference].compactMap(\.self)
            if answered.isDisjoint(with: names) {
                return offer
            }
        }
        return nil
    }

    /// The identifiers by which an answer names its question.
    ///
    /// These are the identifiers of its request and its session, or the references of declined invitations.
    private static func answeredNames(_ message: JSONValue) -> [String] {
        let interactiveData = message["interactiveData"]
        return [
            interactiveData?["data"]?["requestIdentifier"]?.string,
            interactiveData?["sessionIdentifier"]?.string,
        ].compactMap(\.self) + (message["referenceIds"]?.elements.compactMap(\.string) ?? [])
    }

    /// The lines of the conversation's file, then the accepted replies in the journal that have no line yet.
    private static func conversation(of customer: SimulatedCustomer, data: String) throws -> [Said] {
        let lines = try ConversationFiles(dataDirectory: data).lines(of: customer.business, customer.id)
        var said = lines.filter { $0.direction == .inbound || $0.outcome == "accepted" }.map {
            Said(id: $0.id, isFromCustomer: $0.direction == .inbound, message: $0.message)
        }
        let known = Set(lines.map(\.id))
        try JournalFiles(dataDirectory: data).forEachReply(
            where: {
                $0.status == .accepted && $0.customer == customer.id && $0.business == customer.business
                    && !known.contains($0.messageID)
            },
            { reply in
                let message = try JSONDocument(reply.message).root
                said.append(Said(id: reply.messageID, isFromCustomer: false, message: message))
            })
        return said
    }
}
