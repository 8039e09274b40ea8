package import BalloonJSON
package import BalloonPOSIX
package import BusinessMessages

/// One line of a conversation's file.
///
/// `{"seq":1,"at":"…","direction":"inbound","id":"…","kind":"text","customer":"…","record":12,"message":{…}}`;
/// outbound lines add, before the message, `"outcome":"accepted"` (or `refused`, `failed`) and, when the
/// gateway answered, `"status":200`; an inbound line that was not handed over, because another had said the same
/// moments before, `"repeats":"…"`. What became of a message's attachments is a line of its own, later: it has the message's
/// id and record, no message, and `"files":[{"sha256":"…","size":148861}]`; files of earlier versions have that member in the
/// message's own line.
package struct ConversationLine: Sendable {
    /// Which way a message went.
    package enum Direction: String, Sendable {
        /// From the customer.
        case inbound
        /// To the customer.
        case outbound
    }

    /// 1, 2, 3 … without gaps.
    package let sequence: Int
    /// Inbound: when the message came in; outbound: when its outcome was final.
    package let at: Timestamp
    /// Which way the message went.
    package let direction: Direction
    /// The message's id.
    package let id: MessageID
    /// The message's kind.
    package let kind: Kind
    /// The customer of the conversation.
    package let customer: CustomerID
    /// The journal's record of the inbound message; for a reply, of the message that it answers.
    package let record: UInt64
    /// The raw message, with its payload in place when that was resolved; the files in a line that only tells of those.
    package let message: JSONValue
    /// Whether the line only tells what became of an earlier line's attachments.
    package let isFilesOnly: Bool
    /// Outbound: `accepted`, `refused` or `failed`.
    package let outcome: String?
    /// Outbound: the gateway's HTTP status, when one came.
    package let status: Int?
    /// Inbound: the message of moments before that said the same, so that this one was not handed over.
    package let repeats: MessageID?
    /// Inbound: what became of the attachments, in their order.
    package private(set) var files: [RecordedFile]

    /// The numbers that a line can have; no conversation gets so far, but a damaged digit does.
    private static let sequences = 1...(1 << 48)

    /// What no two lines of a conversation have in common.
    var identity: LineIdentity {
        LineIdentity(record: record, reply: direction == .outbound ? id : nil, isFilesOnly: isFilesOnly)
    }

    /// The lines with what later lines tell of their attachments, without those later lines.
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
        }
        return merged
    }

    /// Reads a line without its line feed; nil when it is not one.
    package init?(_ text: [UInt8]) {
        // A line that is no JSON is not a line; where it stands is the caller's to tell.
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
        repeats = root["repeats"]?.string.map { MessageID($0) }
        files = RecordedFile.list(in: root) ?? []
    }
}

/// A line that is to be written to a conversation.
struct ConversationEntry: Sendable {
    let conversation: ConversationKey
    let record: UInt64
    let at: Timestamp
    let id: MessageID
    let kind: Kind
    let message: [UInt8]
    /// Outbound lines only.
    var result: ReplyResult?
    /// Inbound lines only: the message that this one says once more.
    var repeats: MessageID?
    /// Inbound lines only: what became of the attachments.
    var files: [RecordedFile] = []
    /// Whether the line only tells what became of an earlier line's attachments.
    var isFilesOnly = false

    /// What no two lines of a conversation have in common.
    var identity: LineIdentity {
        LineIdentity(record: record, reply: result == nil ? nil : id, isFilesOnly: isFilesOnly)
    }

    /// The kinds whose inbound lines may leave something out.
    static let redactedKinds: Set<Kind> = [.authentication, .applePay, .form, .unrecognized]

    /// Whether the line leaves something out that the message had.
    var isRedacted: Bool {
        guard result == nil, !isFilesOnly, Self.redactedKinds.contains(kind) else { return false }
        // Few of these have too many parts to be read; the lines of all others are compared as they are.
        return kind != .unrecognized || redacted(message) != nil
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
            writer.field("repeats", repeats?.rawValue)
            if !files.isEmpty { writer.files(files) }
            if isFilesOnly { return }
            writer.key("message")
            writer.raw(oneLine(result == nil ? kept(message, kind) : message))
        }
        var line = json
        line.append(UInt8(ascii: "\n"))
        return line
    }
}

/// What no two lines of a conversation have in common: an inbound line's record and whether it only tells of files, or also
/// its reply's id.
struct LineIdentity: Hashable, Sendable {
    let record: UInt64
    let reply: MessageID?
    var isFilesOnly = false
}

/// Tokens and private answers are for the handler alone: the line has the message without them.
private func kept(_ message: [UInt8], _ kind: Kind) -> [UInt8] {
    ConversationEntry.redactedKinds.contains(kind) ? redacted(message) ?? message : message
}

/// Nil when the message may be kept as it is.
private func redacted(_ message: [UInt8]) -> [UInt8]? {
    // The journal holds nothing but validated JSON.
    (try? JSONDocument(message, limits: .journal)).flatMap {
        InboundEvent.decode(message: $0).redactedMessage
    }
}
