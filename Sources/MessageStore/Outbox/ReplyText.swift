import BalloonPOSIX
import BusinessMessages

/// The text of a decided reply, read back from the journal.
///
/// It is a class, so that a queue of thousands of replies without cached texts takes little memory.
final class ReplyText: Sendable {
    let business: BusinessID
    let customer: CustomerID
    let reply: DecidedReply
    /// The id of the answered message; nil for a proactive message.
    let inReplyTo: MessageID?
    /// The author, if the record names one.
    let author: MessageAuthor?
    /// The time after which a proactive message is not sent; nil for none.
    let until: Timestamp?
    /// The attributes of the answered message.
    let attributes: ReceivedAttributes

    /// The place of the text in the journal.
    ///
    /// A handler's reply is part of the outcome that decided it, and the event is another record. A proactive
    /// message and a copied reply have their own record.
    enum Place: Sendable {
        case outcome(RecordLocation, event: RecordLocation)
        case own(RecordLocation)
    }

    init(
        business: BusinessID, customer: CustomerID, reply: DecidedReply, inReplyTo: MessageID?,
        author: MessageAuthor?, until: Timestamp? = nil, attributes: ReceivedAttributes
    ) {
        self.until = until
        self.business = business
        self.customer = customer
        self.reply = reply
        self.inReplyTo = inReplyTo
        self.author = author
        self.attributes = attributes
    }

    /// Reads the reply with this identity; throws when a record is unreadable, or has no such reply.
    init(_ id: ReplyID, at place: Place, from reader: SegmentReader) throws(StoreError) {
        let line: JSONValue
        let content: JSONValue?
        switch place {
        case .own(let location):
            line = try reader.line(at: location).root
            content = line
            inReplyTo = nil
            author = MessageAuthor(line)
            until = line.timestamp("until")
        case .outcome(let outcome, let event):
            line = try reader.line(at: event).root
            let decided = try reader.line(at: outcome).root
            content = decided["replies"]?.elements.dropFirst(id.index).first { _ in true }
            author = content.flatMap { MessageAuthor($0) } ?? MessageAuthor(decided)
            until = nil
            inReplyTo = line["id"]?.string.map { MessageID($0) }
        }
        guard let business = line["business"]?.string, let customer = line["customer"]?.string, let content,
            let messageID = content["id"]?.string, let message = content["message"]
        else { throw .unknownReply(record: id.record, index: id.index) }
        self.business = BusinessID(business)
        self.customer = CustomerID(customer)
        let kind = (content["outbound"] ?? content["kind"])?.string.flatMap(Kind.init) ?? .unrecognized
        reply = DecidedReply(
            id: MessageID(messageID), kind: kind, message: Array(message.text),
            author: inReplyTo == nil ? nil : MessageAuthor(content))
        attributes = ReceivedAttributes(line["attributes"])
    }
}
