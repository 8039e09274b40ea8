import BalloonJSON
import BalloonPOSIX
import BusinessMessages

/// The texts of one message, read from its records in the journal.
///
/// An object, because the stages of a delivery pass it on about a dozen times, and it has many parts.
final class MessageRecords: Sendable {
    let id: MessageID
    let receivedAt: Timestamp
    let attributes: ReceivedAttributes
    let act: ReceivedMessage.Act
    /// The author of an internal or proactive message.
    let author: MessageAuthor?
    let message: [UInt8]
    /// The reason why the payload could not be downloaded; the message then still has the reference.
    let referenceFailure: String?
    /// The handler's decision, and the record that has the decision.
    let decided: (outcome: DecidedOutcome, record: UInt64)?
    /// The results of the attachments, in order; nil until they are recorded.
    let files: [RecordedFile]?
    /// The result of a sign-in that ended while no handler answered the conversation; nil without one.
    let signIn: RecordedSignIn?
    /// The record of a payment that ended while no handler answered the conversation; nil without one.
    let payment: RecordedPayment?
    /// The time of the results, if they have a separate line in the conversation; otherwise nil.
    let filesLineAt: Timestamp?

    /// Uses the texts of a message that is in memory.
    init(_ received: ReceivedMessage) {
        id = received.id
        receivedAt = received.receivedAt
        attributes = received.attributes
        act = received.act
        author = received.author
        message = received.message
        referenceFailure = nil
        decided = nil
        files = nil
        signIn = nil
        payment = nil
        filesLineAt = nil
    }

    /// Reads the records that have the texts of the message with this state.
    init(_ state: MessageState, from reader: SegmentReader) throws(StoreError) {
        let root = try reader.line(at: state.location).root
        // The customer was erased after the caller found this place.
        if root["type"]?.equals("erased") == true { throw .unknownRecord(root.record("record") ?? 0) }
        let resolved =
            if let location = state.resolved { try reader.line(at: location).root } else { nil as JSONValue? }
        let results =
            if let location = state.files { try reader.line(at: location).root } else { nil as JSONValue? }
        id = MessageID(root["id"]?.string ?? "")
        receivedAt = root.timestamp("at") ?? Timestamp(milliseconds: 0)
        attributes = ReceivedAttributes(root["attributes"])
        act = ReceivedMessage.Act(record: root)
        author = MessageAuthor(root)
        message = Array((resolved?["message"] ?? root["message"])?.text ?? [])
        referenceFailure = resolved.flatMap { $0["message"] == nil ? $0["failure"]?.string ?? "" : nil }
        files = results.flatMap { RecordedFile.list(in: $0) }
        signIn = RecordedSignIn(results?["signIn"])
        payment = RecordedPayment(results?["payment"])
        filesLineAt = results?["ownLine"]?.bool == true ? results?.timestamp("at") : nil
        decided =
            if let decision = state.decision {
                (DecidedOutcome(try reader.line(at: decision.location).root), decision.record)
            } else {
                nil
            }
    }
}

extension DecidedOutcome {
    /// Reads the decision from a record of type `outcome`.
    fileprivate init(_ root: JSONValue) {
        let reason = root["reason"]?.string ?? ""
        result =
            switch root["outcome"]?.string {
            case "rejected": .rejected(reason: reason)
            case "handedOff": .handedOff(reason: reason)
            case "failed":
                .refused(
                    RefusedAnswer(
                        reason: reason, problems: root["problems"].map { Array($0.text) } ?? Array("[]".utf8))
                )
            default: .handled
            }
        replies = (root["replies"]?.elements.map(DecidedReply.init)) ?? []
        state = root["state"].map { Array($0.text) }
        waitsForPerson = root["waiting"] != nil
        (placement, note) = (Placement(root["waiting"]?["queue"]), root["waiting"]?["note"]?.string)
        author = MessageAuthor(root)
    }
}

extension DecidedReply {
    fileprivate init(_ value: JSONValue) {
        id = MessageID(value["id"]?.string ?? "")
        kind = value["kind"]?.string.flatMap(Kind.init) ?? .unrecognized
        message = Array(value["message"]?.text ?? [])
        author = MessageAuthor(value)
    }
}
