import BalloonPOSIX
import BusinessMessages

/// The pairs of identifiers of invited persons: the telephone number that an invitation was sent to, and the
/// identifier in the message that accepted it.
///
/// A device merely names a number, which proves nothing. A pair therefore needs an invitation that this
/// server sent to the number, and the first later acceptance with the invitation's reference.
struct InvitationLinks {
    private struct Invitation: Hashable {
        /// The name of the business's folder.
        let business: String
        let number: CustomerID
        let reference: String
    }

    /// The first record of each invitation.
    private var sent: [Invitation: UInt64] = [:]
    private var accepted: [Invitation: [(record: UInt64, customer: CustomerID)]] = [:]
    /// The customers' messages whose content was not in their records yet.
    private var referenced: [UInt64: ConversationKey] = [:]

    /// Returns the customers with the other identifiers of the same persons.
    func closure(of customers: Set<CustomerID>) -> Set<CustomerID> {
        var closure = customers
        let pairs = accepted.compactMap { invitation, answers -> [CustomerID]? in
            guard let record = sent[invitation] else { return nil }
            let first = answers.filter { $0.record > record }.min { $0.record < $1.record }
            return first.map { [invitation.number, $0.customer] }
        }
        while let pair = pairs.first(where: { pair in
            pair.contains(where: closure.contains) && !pair.allSatisfy(closure.contains)
        }) {
            closure.formUnion(pair)
        }
        return closure
    }

    /// The folders of the businesses that invited one of the customers.
    func businesses(inviting customers: Set<CustomerID>) -> Set<String> {
        Set(sent.keys.filter { customers.contains($0.number) }.map(\.business))
    }

    /// Adds a message of the journal, if it is an invitation or accepts one.
    mutating func take(_ record: JournalRecord, number: UInt64, in line: ArraySlice<UInt8>) {
        let message = record.message
        if let message, message.hasReference, message.replayOf == nil {
            referenced[number] = message.conversation
        }
        // The content is in the message's own record, or in the one that resolved the reference.
        let known = message?.conversation ?? record.subject.flatMap { referenced[$0] }
        guard let known, message?.replayOf == nil, (message?.outboundKind ?? .invitation) == .invitation,
            Self.mayConcernInvitation(line),
            let content = (try? JSONDocument(Array(line), limits: .journal))?.root["message"]
        else { return }
        take(
            content, of: known.customer, record: record.subject ?? number,
            isOutbound: message?.outboundKind != nil, business: ConversationPath.business(known.business))
    }

    /// Adds the invitations and acceptances of a conversation's file.
    mutating func take(conversation text: [UInt8], business: String) {
        guard Self.mayConcernInvitation(text[...]) else { return }
        for piece in text.split(separator: UInt8(ascii: "\n")) where Self.mayConcernInvitation(piece) {
            guard let line = ConversationLine(Array(piece)), line.kind == .invitation else { continue }
            take(
                line.message, of: line.customer, record: line.record,
                isOutbound: line.direction == .outbound, business: business)
        }
    }

    /// Whether the text may have an invitation, whose message has a member `notification`.
    private static func mayConcernInvitation(_ text: ArraySlice<UInt8>) -> Bool {
        text.firstPosition(of: Array("notification".utf8)) != nil
    }

    private mutating func take(
        _ message: JSONValue, of customer: CustomerID, record: UInt64, isOutbound: Bool, business: String
    ) {
        if isOutbound {
            let data = message["interactiveData"]?["data"]
            let reference = data?["notification"]?["referenceId"] ?? data?["referenceId"]
            guard let reference = reference?.string else { return }
            let invitation = Invitation(business: business, number: customer, reference: reference)
            sent[invitation] = min(sent[invitation] ?? .max, record)
            return
        }
        // The value was parsed before, so parsing its text cannot fail.
        guard let document = try? JSONDocument(Array(message.text), limits: .journal),
            case .invitation(let answer) = InboundEvent.decode(message: document).content, answer.isAccepted,
            let number = answer.interaction.requestIdentifier, let reference = answer.referenceID
        else { return }
        let invitation = Invitation(
            business: business, number: CustomerID(number), reference: reference)
        accepted[invitation, default: []].append((record, customer))
    }
}

extension CustomerErasure {
    /// Returns the customers with the other identifiers of the same persons; see ``InvitationLinks``.
    ///
    /// Reads the journal and the customers' conversations. Of a business that invited one of the customers, all
    /// conversations are read.
    func linked(to customers: Set<CustomerID>) throws(StoreError) -> Set<CustomerID> {
        var links = InvitationLinks()
        try journal.forEachLine { record, number, line in links.take(record, number: number, in: line) }
        var (known, read): (Set<CustomerID>, Set<String>) = ([], [])
        var found = customers
        while known != found {
            let new = found.subtracting(known)
            known = found
            try forEachFile(of: new, in: [directory.conversations, directory.damaged]) {
                conversation, path throws(StoreError) in
                try take(path, of: conversation.business, into: &links)
            }
            for business in links.businesses(inviting: known) where read.insert(business).inserted {
                try forEachFolder(of: business) { path, business, names throws(StoreError) in
                    for name in names { try take(path + "/" + name, of: business, into: &links) }
                }
            }
            found = links.closure(of: known)
        }
        return found
    }

    private func take(
        _ path: String, of business: String, into links: inout InvitationLinks
    ) throws(StoreError) {
        let text = try files.resting { () throws(StoreError) in try files.read(path) }
        if let text { links.take(conversation: text, business: business) }
    }
}
