import BalloonJSON
import BusinessMessages
package import MessageStore

/// The body of `POST /replies/drop` and `/replies/retry`, without the job: `{"job":"…","replies":["57.1","57.2"]}`.
///
/// A retry of one reply may have `"edited":{"id":"…","kind":"text","message":{…}}`, which replaces the reply.
package struct ReplyRequest: Sendable {
    /// The names of the replies.
    package let replies: [ReplyID]
    /// The replacement of a single reply.
    package let edited: DecidedReply?

    /// The reason in a reply that an operator dropped.
    package static let operatorReason = "not sent: an operator dropped it"

    /// Creates a request for these replies.
    package init(_ replies: [ReplyID], edited: DecidedReply? = nil) {
        self.replies = replies
        self.edited = edited
    }

    /// Parses a body; nil when it is invalid.
    init?(_ json: [UInt8]) {
        // A body that is not JSON names no replies.
        guard let root = (try? JSONDocument(json))?.root, let names = root["replies"]?.elements else {
            return nil
        }
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

/// The answer of `POST /replies/drop` and `/replies/retry`: `{"replies":[{"reply":"57.1","replay":91,"repetition":true}]}`.
///
/// A retry names each reply and its new record; a drop names the replies that an earlier command dropped.
package struct ReplyAnswer: Sendable {
    private let replies: [(reply: ReplyID, replay: UInt64?, isRepetition: Bool)]

    init(retried: [ReplyRetry]) { replies = retried.map { ($0.reply, $0.record, $0.isRepetition) } }

    init(dropped: Set<ReplyID>) { replies = dropped.sorted().map { ($0, nil, true) } }

    /// Parses an answer; nil for other JSON.
    package init?(_ json: [UInt8]) {
        // An answer that is no JSON is ignored.
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

    /// The result for each reply that was to be sent again.
    package var retried: [ReplyRetry] {
        replies.compactMap { reply, replay, isRepetition in
            replay.map { ReplyRetry(reply: reply, record: $0, isRepetition: isRepetition) }
        }
    }

    /// The replies that were dropped before.
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
