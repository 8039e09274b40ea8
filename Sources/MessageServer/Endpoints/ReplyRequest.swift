import BalloonJSON
import BusinessMessages
package import MessageStore

/// The body of `POST /replies/drop` and `/replies/retry`, without the job: `{"job":"…","replies":["57.1","57.2"]}`.
///
/// A retry of one reply may have `"edited":{"id":"…","kind":"text","message":{…}}`, which is sent instead.
package struct ReplyRequest: Sendable {
    /// The replies, by their names.
    package let replies: [ReplyID]
    /// What is sent instead of the only one.
    package let edited: DecidedReply?

    /// Why a reply ended that an operator dropped.
    package static let operatorReason = "not sent: an operator dropped it"

    /// Asks for these.
    package init(_ replies: [ReplyID], edited: DecidedReply? = nil) {
        self.replies = replies
        self.edited = edited
    }

    /// Reads a body; nil when it is none.
    init?(_ json: [UInt8]) {
        // A body that is no JSON names no replies.
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

    /// Writes what `init(_:)` reads.
    package func json(job: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
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
        return writer.finish()
    }
}
