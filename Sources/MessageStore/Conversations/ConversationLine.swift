package import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// One line of a conversation's file.
///
/// `{"seq":1,"at":"…","direction":"inbound","id":"…","kind":"text","customer":"…","record":12,"message":{…}}`
///
/// Outbound lines add, before the message, `"outcome":"accepted"` (or `refused`, `expired`, `dropped`; earlier versions also
/// wrote `failed`), when the gateway answered `"status":200`, and their ``MessageAuthor``, which earlier versions did not write. An inbound line adds `"capabilities":"QUICK,LIST"` when the message came with
/// them, and that of a repeated choice `"repeats":"…"`. The results
/// of a message's attachments are a separate later line with the message's id and record, no message, and
/// `"files":[{"sha256":"…","size":148861}]`; so is the result of a sign-in that ended while a person had the conversation, as
/// `"files":[],"signIn":{"result":"signedIn","issuer":"…"}`, and that of a payment as
/// `"files":[],"payment":{"state":"paid","amount":"63.99","currency":"EUR"}`. Files of earlier versions have that member in the message's own
/// line.
package struct ConversationLine: Sendable {
    /// The direction of a message.
    package enum Direction: String, Sendable {
        /// From the customer.
        case inbound
        /// To the customer.
        case outbound
    }

    /// The line's number in its conversation: 1, 2, 3 … without gaps.
    package let sequence: Int
    /// Inbound: the arrival time; outbound: the time of the final outcome.
    package let at: Timestamp
    /// The direction of the message.
    package let direction: Direction
    /// The message's id.
    package let id: MessageID
    /// The message's kind.
    package let kind: Kind
    /// The customer of the conversation.
    package let customer: CustomerID
    /// The journal record of the inbound message; for a reply, that of the answered message.
    package let record: UInt64
    /// The raw message, including its payload when that was resolved; for a files line, the files.
    package let message: JSONValue
    /// Whether the line only contains the results of an earlier line's attachments, or of its sign-in.
    package let isFilesOnly: Bool
    /// Outbound: `accepted`, `refused`, `expired`, `dropped` or, of an earlier version, `failed`.
    package let outcome: String?
    /// Outbound: the gateway's HTTP status, if it answered.
    package let status: Int?
    /// Outbound: the author, which lines of earlier versions do not name.
    package let author: MessageAuthor?
    /// Inbound: the recent message with the same choice, because of which no handler was called.
    package let repeats: MessageID?
    /// Inbound: the header `capability-list`, which lines of earlier versions do not have.
    package let capabilities: String?
    /// Inbound: the results of the attachments, in order.
    package private(set) var files: [RecordedFile]
    /// Inbound: the result of the sign-in, if a person had the conversation.
    package private(set) var signIn: RecordedSignIn?
    /// Inbound: the record of the payment, if a person had the conversation.
    package private(set) var payment: RecordedPayment?

    /// The valid range of line numbers; larger ones are damaged digits.
    private static let sequences = 1...(1 << 48)

    /// The identity of the line, unique in its conversation.
    var identity: LineIdentity {
        LineIdentity(record: record, reply: direction == .outbound ? id : nil, isFilesOnly: isFilesOnly)
    }

    /// Merges files lines into the lines of their messages.
    package static func merging(_ lines: [ConversationLine]) -> [ConversationLine] {
        guard lines.contains(where: \.isFilesOnly) else { return lines }
        var merged: [ConversationLine] = []
        for line in lines {
            guard line.isFilesOnly else {
                merged.append(line)
                continue
            }
            guard
                let index = merged.lastIndex(where: { $0.record == line.record && $0.direction == .inbound })
            else { continue }
            merged[index].files = line.files
            merged[index].signIn = line.signIn
            merged[index].payment = line.payment
        }
        return merged
    }

    /// Parses a line without its line feed; nil when it is invalid.
    package init?(_ text: [UInt8]) {
        // The caller reports the place of an invalid line.
        guard let root = (try? JSONDocument(text, limits: .journal))?.root,
            let sequence = root["seq"]?.int, Self.sequences.contains(sequence),
            let at = root["at"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let direction = root["direction"]?.string.flatMap(Direction.init), let id = root["id"]?.string,
            let kind = root["kind"]?.string, let customer = root["customer"]?.string,
            let record = root["record"]?.int, record > 0
        else { return nil }
        isFilesOnly = root["message"] == nil && root["files"] != nil
        guard let message = root["message"] ?? (isFilesOnly ? root["files"] : nil) else { return nil }
        self.sequence = sequence
        self.at = at
        self.direction = direction
        self.id = MessageID(id)
        self.kind = Kind(rawValue: kind) ?? .unrecognized
        self.customer = CustomerID(customer)
        self.record = UInt64(record)
        self.message = message
        outcome = root["outcome"]?.string
        status = root["status"]?.int
        author = MessageAuthor(root)
        repeats = root["repeats"]?.string.map { MessageID($0) }
        capabilities = root["capabilities"]?.string
        files = RecordedFile.list(in: root) ?? []
        signIn = RecordedSignIn(root["signIn"])
        payment = RecordedPayment(root["payment"])
    }
}

extension ConversationLine {
    /// The line's `text` without the secrets that an earlier version wrote; nil when the line has none.
    func redacted(_ text: [UInt8]) -> [UInt8]? {
        // Parsing cannot fail, because the line was read from the text, and its message is a value of it.
        guard !isFilesOnly, ConversationEntry.redactedKinds.contains(kind),
            let root = (try? JSONDocument(text, limits: .journal))?.root,
            let document = try? JSONDocument(Array(message.text), limits: .journal),
            let kept = direction == .outbound
                ? OutboundMessage.redacted(document.root)
                : InboundEvent.decode(message: document).redactedMessage
        else { return nil }
        return root.replacing(members: ["message": kept])
    }
}

/// A line to be written to a conversation.
struct ConversationEntry: Sendable {
    let conversation: ConversationKey
    let record: UInt64
    let at: Timestamp
    let id: MessageID
    let kind: Kind
    let message: [UInt8]
    /// Outbound lines only.
    var result: ReplyResult?
    /// Outbound lines only: the author, if the journal names one.
    var author: MessageAuthor?
    /// Inbound lines only: the message that this one repeats.
    var repeats: MessageID?
    /// Inbound lines only: the header `capability-list`.
    var capabilities: String?
    /// Inbound lines only: the results of the attachments.
    var files: [RecordedFile] = []
    /// Lines of results only: the result of the sign-in.
    var signIn: RecordedSignIn?
    /// Lines of results only: the record of the payment.
    var payment: RecordedPayment?
    /// Whether the line only contains the results of an earlier line's attachments, or of its sign-in.
    var isFilesOnly = false

    /// The identity of the line, unique in its conversation.
    var identity: LineIdentity {
        LineIdentity(record: record, reply: result == nil ? nil : id, isFilesOnly: isFilesOnly)
    }

    /// Whether a customer's message closes its conversation; nil for another line.
    var closes: Bool? { result == nil && !isFilesOnly && !kind.isTyping ? kind == .close : nil }

    /// The kinds whose inbound lines may be redacted.
    static let redactedKinds: Set<Kind> = [.authentication, .applePay, .form, .unrecognized]

    private var mayBeRedacted: Bool { !isFilesOnly && Self.redactedKinds.contains(kind) }
    private var isOutbound: Bool { result != nil }

    /// Whether the line is redacted, so that an earlier version may have written it with more of its values.
    var isRedacted: Bool {
        guard mayBeRedacted else { return false }
        switch kind {
        case .authentication, .applePay: return true
        case .form where !isOutbound: return true
        // A message of any other kind must be parsed for this.
        default: return redactedMessage != nil
        }
    }

    /// The message as the line contains it: without tokens, secrets and private answers, which are for the handler
    /// or the gateway only.
    private var keptMessage: [UInt8] { mayBeRedacted ? redactedMessage ?? message : message }

    /// The message without its secrets; nil when it needs no redaction.
    private var redactedMessage: [UInt8]? {
        // The journal contains only validated JSON.
        guard let document = try? JSONDocument(message, limits: .journal) else { return nil }
        return isOutbound
            ? OutboundMessage.redacted(document.root)
            : InboundEvent.decode(message: document).redactedMessage
    }

    /// The same line as written by versions that did not record capabilities; nil when it has none.
    var withoutCapabilities: ConversationEntry? {
        guard capabilities != nil else { return nil }
        var older = self
        older.capabilities = nil
        return older
    }

    /// The facts of the line with this number that an index has.
    func indexLine(sequence: Int) -> ConversationIndex.Line {
        ConversationIndex.Line(at: at, kind: kind, isOutbound: result != nil, sequence: sequence)
    }

    /// The line with its line feed.
    func line(sequence: Int) -> [UInt8] {
        let json = JSONWriter.object(reservingCapacity: message.count + 384) { writer in
            writer.field("seq", sequence)
            writer.field("at", at)
            writer.field(
                "direction",
                (result == nil ? ConversationLine.Direction.inbound : ConversationLine.Direction.outbound)
                    .rawValue)
            writer.field("id", id.rawValue)
            writer.field("kind", kind.rawValue)
            writer.field("customer", conversation.customer.rawValue)
            writer.field("record", Int(record))
            writer.field("outcome", result?.name)
            writer.field("status", result?.status)
            writer.line(author: author)
            writer.field("capabilities", capabilities)
            writer.field("repeats", repeats?.rawValue)
            if !files.isEmpty || isFilesOnly { writer.files(files) }
            writer.field(signIn: signIn)
            writer.field(payment: payment)
            if isFilesOnly { return }
            writer.key("message")
            writer.raw(oneLine(keptMessage))
        }
        var line = json
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

/// The identity of a line in its conversation: its record, the id of the reply in an outbound line, and whether it is
/// a files line.
struct LineIdentity: Hashable, Sendable {
    let record: UInt64
    let reply: MessageID?
    var isFilesOnly = false

    /// The order in which missing lines are inserted: by record, then the message, its files and its replies.
    var place: (record: UInt64, part: Int) { (record, reply != nil ? 2 : isFilesOnly ? 1 : 0) }
}
