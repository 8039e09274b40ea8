import BalloonJSON
import BusinessMessages
package import MessageStore

/// The body of `POST /replies/drop` and `/replies/retry`: `{"job":"…","replies":["57.1","57.2"]}`.
///
/// A retry of one reply may have `"edited":{"id":"…","kind":"text","message":{…}}`, which replaces the reply.
package struct ReplyRequest: Sendable {
    /// The identifiers of the replies; empty with a selection.
    package let replies: [ReplyID]
    /// The selection of the replies, if they are not named.
    package let selection: MessageSelection?
    /// The replacement of a single reply.
    package let edited: DecidedReply?

    /// The recorded reason of a reply that an operator dropped.
    package static let operatorReason = "not sent: an operator dropped it"

    /// Creates a request for these replies.
    package init(_ replies: [ReplyID], edited: DecidedReply? = nil) {
        self.replies = replies
        self.edited = edited
        selection = nil
    }

    /// Creates a request for the selected replies.
    package init(_ selection: MessageSelection) {
        (replies, edited) = ([], nil)
        self.selection = selection
    }

    /// Parses a body; nil when it is invalid.
    init?(_ json: [UInt8]) {
        // A body that is not JSON names no replies.
        guard let root = (try? JSONDocument(json))?.root else { return nil }
        selection = MessageSelection(in: root)
        if selection != nil {
            (replies, edited) = ([], nil)
            return
        }
        guard let names = root["replies"]?.elements else { return nil }
        replies = names.compactMap { $0.string.flatMap { ReplyID($0) } }
        guard replies.count == names.count else { return nil }
        guard let edited = root["edited"] else {
            self.edited = nil
            return
        }
        guard replies.count == 1, let id = edited["id"]?.string, let message = edited["message"],
            let kind = edited["kind"]?.string.flatMap(Kind.init(rawValue:))
        else { return nil }
        self.edited = DecidedReply(id: MessageID(id), kind: kind, message: Array(message.text))
    }

    /// The request as a JSON object, as `init(_:)` reads it, with the job's identifier.
    package func json(job: String) -> [UInt8] {
        JSONWriter.object { writer in
            writer.field("job", job)
            if let selection { return selection.write(to: &writer) }
            writer.key("replies")
            writer.array { writer in for reply in replies { writer.string("\(reply)") } }
            guard let edited else { return }
            writer.key("edited")
            writer.object { writer in
                writer.field("id", edited.id.rawValue)
                writer.field("kind", edited.kind.rawValue)
                writer.key("message")
                writer.raw(edited.message)
            }
        }
    }
}

/// The answer of `POST /replies/drop` and `/replies/retry`:
/// `{"replies":[{"reply":"57.1","replay":91,"repetition":true}]}`.
///
/// The answer to a retry names each reply and its new record; the answer to a drop names only the replies that an
/// earlier command had dropped; after a request with a selection, it names those that were dropped now.
package struct ReplyAnswer: Sendable {
    private let replies: [(reply: ReplyID, replay: UInt64?, isRepetition: Bool)]

    init(retried: [ReplyRetry]) { replies = retried.map { ($0.reply, $0.record, $0.isRepetition) } }

    /// With `before`, an earlier command dropped the replies.
    init(dropped: [ReplyID], before: Bool) { replies = dropped.map { ($0, nil, before) } }

    /// Parses an answer; nil for other JSON.
    package init?(_ json: [UInt8]) {
        // An answer that is not JSON names no replies.
        guard let values = (try? JSONDocument(json))?.root["replies"]?.elements else { return nil }
        let replies = values.compactMap { value in
            value["reply"]?.string.flatMap { ReplyID($0) }.map { reply in
                (
                    reply: reply, replay: value["replay"]?.int.flatMap(UInt64.init(exactly:)),
                    isRepetition: value["repetition"]?.bool ?? false
                )
            }
        }
        guard replies.count == values.count else { return nil }
        self.replies = replies
    }

    /// The results of a retry, one for each reply.
    package var retried: [ReplyRetry] {
        replies.compactMap { reply, replay, isRepetition in
            replay.map { ReplyRetry(reply: reply, record: $0, isRepetition: isRepetition) }
        }
    }

    /// The replies that a request with a selection dropped.
    package var dropped: [ReplyID] { replies.filter { !$0.isRepetition }.map(\.reply) }

    /// The replies that an earlier command had dropped.
    package var droppedBefore: Set<ReplyID> { Set(replies.filter(\.isRepetition).map(\.reply)) }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("replies")
            writer.array { writer in
                for (reply, replay, isRepetition) in replies {
                    writer.object { writer in
                        writer.field("reply", "\(reply)")
                        writer.field("replay", replay.map { Int(clamping: $0) })
                        if isRepetition { writer.field("repetition", true) }
                    }
                }
            }
        }
        return writer.finish()
    }
}
