import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// What the journal says about one message, read back from its records.
struct DeliveryRecords: Sendable {
    /// A reply's end and when it came.
    struct ReplyEnd: Sendable {
        let result: ReplyResult
        let at: Timestamp
    }

    let id: MessageID
    let receivedAt: Timestamp
    let attributes: ReceivedAttributes
    private let isReplay: Bool
    private let outboundKind: Kind?
    private let isFromPerson: Bool
    private(set) var message: [UInt8]
    private(set) var reference = ReferenceState.none
    private(set) var decided: DecidedOutcome?
    /// The record that says what was decided.
    private(set) var decision: UInt64 = 0
    private(set) var replies: [Int: ReplyEnd] = [:]
    /// Nil until the attachments were fetched.
    private(set) var files: [RecordedFile]?

    /// Reads the message's own record and those that say more about it, in their order.
    init(_ pending: PendingDelivery, from reader: SegmentReader) throws(StoreError) {
        let root = try reader.line(at: pending.location).root
        id = MessageID(root["id"]?.string ?? "")
        receivedAt = timestamp(root)
        attributes = ReceivedAttributes(root["attributes"])
        isReplay = root["replayOf"] != nil
        outboundKind = root["outbound"]?.string.map { Kind(rawValue: $0) ?? .unrecognized }
        isFromPerson = root["person"]?.bool ?? false
        message = Array(root["message"]?.text ?? [])
        if let outboundKind {
            decided = DecidedOutcome(
                .handled, replies: [DecidedReply(id: id, kind: outboundKind, message: message)])
        }
        for location in pending.related { apply(try reader.line(at: location).root) }
    }

    private mutating func apply(_ root: JSONValue) {
        guard let type = root["type"] else { return }
        if type.equals("resolved") {
            if let resolved = root["message"] {
                message = Array(resolved.text)
                reference = .resolved
            } else {
                reference = .failed(reason: root["failure"]?.string ?? "")
            }
        } else if type.equals("files") {
            files = RecordedFile.list(in: root)
        } else if type.equals("outcome"), decided == nil {
            decided = DecidedOutcome(root)
            decision = UInt64(root["record"]?.int ?? 0)
        } else if type.equals("reply"), let index = root["index"]?.int, let name = root["result"]?.string,
            let result = ReplyResult(name: name, status: root["status"]?.int, reason: root["reason"]?.string)
        {
            replies[index] = ReplyEnd(result: result, at: timestamp(root))
        }
    }

    /// The delivery of a lease.
    func delivery(_ lease: Lease) -> Delivery {
        Delivery(
            record: lease.pending.record, business: lease.conversation.business,
            customer: lease.conversation.customer, id: id, attributes: attributes, message: message,
            reference: reference, files: files, attempt: Int(lease.pending.attempt), decided: decided,
            replyResults: replies.mapValues(\.result), receivedAt: receivedAt,
            isRecovered: lease.pending.isRecovered, isReplay: lease.pending.isReplay,
            outboundKind: outboundKind, isFromPerson: isFromPerson,
            isParked: lease.pending.isParked,
            isAfterGap: lease.pending.isAfterGap, crashes: Int(lease.pending.crashes))
    }

    /// The lines that the message and its replies have in their conversation.
    ///
    /// `original` is the message that this one says once more, if it does.
    func entries(
        record: UInt64, kind: Kind, conversation: ConversationKey, repeating original: MessageID? = nil
    ) -> [ConversationEntry] {
        var entries: [ConversationEntry] = []
        // A replay's message has its line from the first time; one that goes out unasked has the line of its reply.
        if !isReplay, outboundKind == nil {
            entries.append(
                ConversationEntry(
                    conversation: conversation, record: record, at: receivedAt, id: id, kind: kind,
                    message: message, repeats: original, files: files ?? []))
        }
        for (index, reply) in (decided?.replies ?? []).enumerated() {
            guard let end = replies[index] else { continue }
            entries.append(
                ConversationEntry(
                    conversation: conversation, record: record, at: end.at, id: reply.id, kind: reply.kind,
                    message: reply.message, result: end.result))
        }
        return entries
    }
}

extension DecidedOutcome {
    /// Reads a record of type outcome.
    fileprivate init(_ root: JSONValue) {
        let reason = root["reason"]?.string ?? ""
        verdict =
            switch root["outcome"]?.string {
            case "rejected": .rejected(reason: reason)
            case "handedOff": .handedOff(reason: reason)
            default: .handled
            }
        replies = (root["replies"]?.elements.map(DecidedReply.init)) ?? []
        state = root["state"].map { Array($0.text) }
    }
}

extension DecidedReply {
    fileprivate init(_ value: JSONValue) {
        id = MessageID(value["id"]?.string ?? "")
        kind = value["kind"]?.string.flatMap(Kind.init) ?? .unrecognized
        message = Array(value["message"]?.text ?? [])
    }
}

private func timestamp(_ root: JSONValue) -> Timestamp {
    root["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? Timestamp(milliseconds: 0)
}
