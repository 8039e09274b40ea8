package import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// One line of a conversation's file.
///
/// `{"seq":1,"at":"…","direction":"inbound","id":"…","kind":"text","customer":"…","record":12,"message":{…}}`
///
/// An outbound line has further members before `message`: `"outcome":"accepted"` (or `refused`, `expired`,
/// `dropped`), `"status":200` if the gateway answered, and its ``MessageAuthor``. Earlier versions also wrote
/// `failed`, and no author.
///
/// An inbound line has `"capabilities":"QUICK,LIST"` when the message came with them. It has `"repeats":"…"`
/// when it repeats a choice.
///
/// An internal line has its ``MessageAuthor``, and `"kind"` is the type of its ``InternalMessage``; a line of
/// this form was never sent, and no handler gets it.
///
/// The results of a message's attachments are a separate later line. It has the message's id and record,
/// `"files":[{"sha256":"…","size":148861}]`, and no `message`. The same form has the result of a sign-in that
/// ended while a person had the conversation: `"files":[],"signIn":{"result":"signedIn","issuer":"…"}`. That
/// of a payment is `"files":[],"payment":{"state":"paid","amount":"63.99","currency":"EUR"}`. Earlier
/// versions wrote `files` into the message's own line.
package struct ConversationLine: Sendable {
    /// The direction of a message.
    package enum Direction: String, Sendable {
        /// From the customer.
        case inbound
        /// To the customer.
        case outbound
        /// For people only: a note, or a change of what is known about the customer; see ``InternalMessage``.
        case `internal`
    }

    /// The line's number in its conversation: 1, 2, 3 … without gaps.
    package let sequence: Int
    /// Inbound: the arrival time; outbound: the time of the final outcome.
    package let at: Timestamp
    /// The direction of the message.
    package let direction: Direction
    /// The message's id.
    package let id: MessageID
    /// The message's kind; `unrecognized` for an internal line.
    package let kind: Kind
    /// The customer of the conversation.
    package let customer: CustomerID
    /// The journal record of the message; for a reply, the record of the message that it answers.
    package let record: UInt64
    /// The raw message, including its payload when that was resolved; for a line of results, its `files`.
    package let message: JSONValue
    /// Whether the line has only the results of an earlier message: of its attachments, sign-in or payment.
    package let isFilesOnly: Bool
    /// Outbound: `accepted`, `refused`, `expired`, `dropped` or, of an earlier version, `failed`.
    package let outcome: String?
    /// Outbound: the gateway's HTTP status, if it answered.
    package let status: Int?
    /// Outbound and internal: the author; nil in lines of earlier versions, which named none.
    package let author: MessageAuthor?
    /// Inbound: the recent message with the same choice, because of which no handler was called.
    package let repeats: MessageID?
    /// Inbound: the header `capability-list`; nil in lines of earlier versions, which did not record it.
    package let capabilities: String?
    /// Inbound: the results of the attachments, in order.
    package private(set) var files: [RecordedFile]
    /// Inbound: the result of the sign-in, if it ended while a person had the conversation.
    package private(set) var signIn: RecordedSignIn?
    /// Inbound: the record of the payment, if it ended while a person had the conversation.
    package private(set) var payment: RecordedPayment?

    /// The valid range of line numbers; a larger number means that its digits are damaged.
    private static let sequences = 1...(1 << 48)

    /// The identity of the line, unique in its conversation.
    var identity: LineIdentity {
        LineIdentity(record: record, reply: direction == .outbound ? id : nil, isFilesOnly: isFilesOnly)
    }

    /// Merges each line of results into the line of its message.
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
        // The parser's error is dropped, because the caller reports which line is invalid.
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
    /// Returns this line's `text` without the secrets that an earlier version wrote; nil without any.
    func redacted(_ text: [UInt8]) -> [UInt8]? {
        // Parsing cannot fail, because the line was read from the text, and its message is a value of it.
        guard !isFilesOnly, direction != .internal, ConversationEntry.redactedKinds.contains(kind),
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
    /// Outbound and internal lines only: the author, if the journal names one.
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
    /// Whether the line has only the results of an earlier message: of its attachments, sign-in or payment.
    var isFilesOnly = false
    /// Whether the line is for people only; its message is an ``InternalMessage``.
    var isInternal = false

    /// The identity of the line, unique in its conversation.
    var identity: LineIdentity {
        LineIdentity(record: record, reply: result == nil ? nil : id, isFilesOnly: isFilesOnly)
    }

    /// Whether the customer closed the conversation with this message; nil for any other line.
    var closes: Bool? {
        result == nil && !isFilesOnly && !isInternal && !kind.isTyping ? kind == .close : nil
    }

    /// The kinds whose inbound lines may be redacted.
    static let redactedKinds: Set<Kind> = [.authentication, .applePay, .form, .unrecognized]

    private var mayBeRedacted: Bool { !isFilesOnly && !isInternal && Self.redactedKinds.contains(kind) }
    private var isOutbound: Bool { result != nil }
    private var direction: ConversationLine.Direction {
        isInternal ? .internal : isOutbound ? .outbound : .inbound
    }

    /// Whether the line is redacted; an earlier version may have written the same line with less redaction.
    var isRedacted: Bool {
        guard mayBeRedacted else { return false }
        switch kind {
        case .authentication, .applePay: return true
        case .form where !isOutbound: return true
        // For any other kind, only parsing the message shows whether it needs redaction.
        default: return redactedMessage != nil
        }
    }

    /// The message as the line contains it, without tokens, secrets and private answers.
    ///
    /// Only the handler or the gateway receives those.
    private var keptMessage: [UInt8] { mayBeRedacted ? redactedMessage ?? message : message }

    /// The message without its secrets; nil when it needs no redaction.
    private var redactedMessage: [UInt8]? {
        // The journal contains only validated JSON.
        guard let document = try? JSONDocument(message, limits: .journal) else { return nil }
        return isOutbound
            ? OutboundMessage.redacted(document.root)
            : InboundEvent.decode(message: document).redactedMessage
    }

    /// The line as earlier versions wrote it, without its capabilities; nil for a line that has none.
    var withoutCapabilities: ConversationEntry? {
        guard capabilities != nil else { return nil }
        var older = self
        older.capabilities = nil
        return older
    }

    /// Returns the facts about the line that the index of conversations keeps.
    func indexLine(sequence: Int) -> ConversationIndex.Line {
        ConversationIndex.Line(at: at, kind: kind, isOutbound: result != nil, sequence: sequence)
    }

    /// The line with its line feed.
    func line(sequence: Int) -> [UInt8] {
        let json = JSONWriter.object(reservingCapacity: message.count + 384) { writer in
            writer.field("seq", sequence)
            writer.field("at", at)
            writer.field("direction", direction.rawValue)
            writer.field("id", id.rawValue)
            writer.field("kind", isInternal ? InternalMessage.type(of: message) : kind.rawValue)
            writer.field("customer", conversation.customer.rawValue)
            writer.field("record", Int(record))
            writer.field("outcome", result?.status.rawValue)
            writer.field("status", result?.httpStatus)
            writer.line(author: author)
            writer.field("capabilities", capabilities)
            writer.field("repeats", repeats?.rawValue)
            if isFilesOnly {
                return writer.fields(["files": files, "signIn": signIn, "payment": payment])
            }
            if !files.isEmpty { writer.fields(["files": files]) }
            writer.key("message")
            writer.raw(oneLine(keptMessage))
        }
        var line = json
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

/// The identity of a line in its conversation.
///
/// It consists of the line's record, the id of the reply in an outbound line, and whether the line has only
/// results.
struct LineIdentity: Hashable, Sendable {
    let record: UInt64
    let reply: MessageID?
    var isFilesOnly = false

    /// The order in which missing lines are inserted: by record, then message, results and replies.
    var place: (record: UInt64, part: Int) { (record, reply != nil ? 2 : isFilesOnly ? 1 : 0) }
}
