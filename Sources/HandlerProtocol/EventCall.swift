package import HandlerKit

/// The parameters of `event`, and the body of an HTTP handler's request.
///
/// ```json
/// {"deliveryId": "0f3a….42", "attempt": 1, "traceparent": "00-0af7…-b7ad…-01", "deadlineMs": 30000,
///  "event": {"id": "…", "kind": "quickReply", "business": "…", "customer": "…", "capabilities": ["QUICK"],
///            "locale": "en_US", "summary": "Rye", "selectedIdentifier": "rye", "message": {…}},
///  "files": [{"path": "/…/attachments/ab/ab12…", "size": 148861, "sha256": "ab12…"}, {"failure": "…"}],
///  "state": {"step": "colour"},
///  "history": [{"seq": 3, "at": "…", "direction": "inbound", "kind": "text", "id": "…", "message": {…}}]}
/// ```
/// In an event of the kind `replyFailed`, which only its subscribers get, `message` is a `ReplyFailure`, and in
/// one of the kind `consent` a `ConsentChange`. For other kinds, `message` is the message as Apple sent it, with its resolved payload. For a long message,
/// `messagePath` names a file instead, which exists until the event is answered.
///
/// `files` is present when the message has attachments, and has their order. `state` is the handler's state
/// of the conversation. `locale`, `intent` and `group` may be missing. `afterGap` is present when an earlier
/// event of the conversation was parked. `signIn` is the checked result of a sign-in (`SignInResult`), and
/// `paymentRecord` the server's record of a payment (`PaymentResult`). `afterPerson` is present in the first
/// event after a person answered: the `seq` of the first message that did not go to the handler. `conversation`
/// is present in the first event of a new conversation:
/// `{"isNew": true, "isReturning": true, "lastContact": "2026-07-10T17:00:00.000Z"}`.
///
/// In `history`, messages of the business have an `outcome`. Messages with the outcome `queued` are the last
/// ones and have no `seq`.
package enum EventCall {
    /// The maximum bytes of the included history; the oldest entries are omitted first.
    private static let maximumHistoryBytes = 32 << 10
    /// The maximum bytes of the separate values when the message itself is too long for the line.
    private static let maximumHighlightBytes = 16 << 10
    /// The maximum bytes of an attribute such as `locale`, which a device may make as long as a message.
    private static let maximumAttributeBytes = 1024
    private static let maximumSummaryLength = 1000

    /// Writes the `params` of `event`; if `messagePath` is given, it is written instead of the message.
    package static func write(_ context: Context, messagePath: String? = nil, to writer: inout JSONWriter) {
        writer.field("deliveryId", context.deliveryID.rawValue)
        writer.field("attempt", context.attempt)
        writer.field("traceparent", context.traceparent)
        if context.isAfterGap { writer.field("afterGap", true) }
        writer.field("afterPerson", context.afterPerson)
        if context.conversation.isNew {
            writer.object("conversation") { writer in
                writer.field("isNew", true)
                writer.field("isReturning", context.conversation.isReturning)
                writer.field("lastContact", context.conversation.lastContact)
            }
        }
        writer.field("deadlineMs", max(0, (context.deadline - .now).milliseconds))
        writer.object("event") { writeEvent(of: context, messagePath: messagePath, to: &$0) }
        writer.key("state")
        if let state = context.state.json { writer.value(state) } else { writer.object { _ in } }
        if !context.files.isEmpty {
            writer.list("files", context.files) { file, writer in write(file, to: &writer) }
        }
        writer.list("history", latest(context.conversation.entries)) { entry, writer in
            write(entry, to: &writer)
        }
    }

    private static func writeEvent(
        of context: Context, messagePath: String?, to writer: inout JSONWriter
    ) {
        let event = context.event
        writer.field("id", event.id.rawValue)
        writer.field("kind", context.subscription.name)
        writer.field("business", event.business.rawValue)
        writer.field("customer", event.customer.rawValue)
        writer.field("receivedAt", context.receivedAt)
        writer.field("seq", context.seq)
        if context.isReplay { writer.field("replay", true) }
        writer.field("unrecognizedReason", context.unrecognizedReason?.rawValue)
        writer.list("capabilities", event.attributes.capabilities.tokens.map(\.rawValue))
        writer.field("locale", bounded(event.attributes.locale))
        writer.field("intent", bounded(event.attributes.intent))
        writer.field("group", bounded(event.attributes.group))
        if let failure = context.replyFailure {
            writer.field("summary", "a reply was not delivered: \(failure.status.rawValue)")
        } else {
            writer.field("summary", shortened(event.summary))
            if areShort(event) { writeHighlights(of: event.content, to: &writer) }
        }
        if let signIn = context.signIn {
            writer.raw("signIn", signIn.json)
        }
        if let payment = context.payment {
            writer.raw("paymentRecord", payment.json)
        }
        if let messagePath {
            writer.field("messagePath", messagePath)
        } else {
            writer.field("message", event.message)
        }
    }

    private static func bounded(_ attribute: String?) -> String? {
        attribute.flatMap { $0.utf8.count <= maximumAttributeBytes ? $0 : nil }
    }

    /// Shortens a summary to a number of Unicode scalars, because one character may have any number of combining marks.
    private static func shortened(_ summary: String) -> String {
        let scalars = summary.unicodeScalars
        guard
            let end = scalars.index(
                scalars.startIndex, offsetBy: maximumSummaryLength, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return summary }
        return String(scalars[..<end]) + "…"
    }

    /// Returns whether the protocol line has room for the values that repeat parts of the message.
    private static func areShort(_ event: InboundEvent) -> Bool {
        event.message.text.count <= ProtocolVersion.maximumInlineBytes
            || JSONWriter.object { writeHighlights(of: event.content, to: &$0) }.count
                <= maximumHighlightBytes
    }

    /// Writes the values that handlers need most often as separate members.
    ///
    /// A shell script can then read them without knowing the format of Apple's messages.
    private static func writeHighlights(of content: Content, to writer: inout JSONWriter) {
        switch content {
        case .text(let text):
            writer.field("text", text.plainBody)
            if let tapback = text.tapback { write(tapback, to: &writer) }
        case .quickReply(let reply): writer.field("selectedIdentifier", reply.selectedItem?.identifier)
        case .listPicker(let picker):
            writer.list("selectedIdentifiers", picker.selectedItems) { item, writer in
                item.identifier.map { writer.string($0) }
            }
        case .timePicker(let picker):
            writer.field("selectedIdentifier", picker.selectedTimeslot?.identifier)
            writer.field("startTime", picker.selectedTimeslot?.startTime)
        case .form(let form):
            writer.object("answers") { writer in
                for page in form.selections {
                    writer.list(page.pageIdentifier ?? "", page.items) { item, writer in
                        writer.string(item.value ?? item.title ?? "")
                    }
                }
            }
        case .authentication(let authentication):
            writer.object("authentication") { writer in
                writer.field("status", authentication.result.rawValue)
                writer.field("error", authentication.errorCode ?? authentication.problems.first?.name)
            }
        case .applePay(let payment):
            writer.object("payment") { $0.field("state", payment.state?.rawValue) }
        case .app(let app):
            writer.object("app") { $0.field("url", app.url) }
        case .invitation(let invitation):
            write(invitation: invitation.isAccepted, invitation.referenceID, to: &writer)
        case .close(let close) where close.isDeclinedInvitation:
            write(invitation: false, close.referenceIDs.first, to: &writer)
        case .typingStart, .typingEnd, .close, .unrecognized: break
        }
    }

    private static func write(_ tapback: Tapback, to writer: inout JSONWriter) {
        writer.object("tapback") { writer in
            writer.field("reaction", tapback.reaction.name)
            writer.field("of", tapback.target.words)
            writer.field("removed", tapback.isRemoved)
        }
    }

    private static func write(
        invitation isAccepted: Bool, _ referenceID: String?, to writer: inout JSONWriter
    ) {
        writer.object("invitation") { writer in
            writer.field("accepted", isAccepted)
            writer.field("referenceId", referenceID)
        }
    }

    private static func write(_ file: AttachmentFile, to writer: inout JSONWriter) {
        writer.object { writer in
            switch file {
            case .stored(let path, let sizeBytes, let sha256):
                writer.field("path", path)
                writer.field("size", sizeBytes)
                writer.field("sha256", sha256)
            case .missing(let reason): writer.field("failure", reason)
            }
        }
    }

    private static func latest(_ entries: [Conversation.Entry]) -> ArraySlice<Conversation.Entry> {
        var bytes = 0
        var first = entries.endIndex
        while first > entries.startIndex {
            bytes += entries[first - 1].message.text.count
            guard bytes <= maximumHistoryBytes else { break }
            first -= 1
        }
        return entries[first...]
    }

    private static func write(_ entry: Conversation.Entry, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.field("seq", entry.seq)
            writer.field("at", entry.at)
            writer.field("direction", entry.direction.rawValue)
            writer.field("kind", entry.kind.rawValue)
            writer.field("id", entry.id.rawValue)
            writer.field("outcome", entry.outcome)
            writer.field("message", entry.message)
        }
    }
}

extension Tapback.Reaction {
    /// The name in the protocol: an English word, or the emoji.
    fileprivate var name: String {
        switch self {
        case .loved: "loved"
        case .liked: "liked"
        case .disliked: "disliked"
        case .laughed: "laughed"
        case .emphasized: "emphasized"
        case .questioned: "questioned"
        case .emoji(let emoji): emoji
        case .sticker: "sticker"
        }
    }
}

extension Tapback.Target {
    /// The text of the message that the reaction is about, or Apple's description of another target.
    fileprivate var words: String {
        switch self {
        case .text(let text): text
        case .attachment(let words): words
        case .businessMessages(let count): "\(count) Business Message\(count == 1 ? "" : "s")"
        }
    }
}

extension Authentication.Problem {
    /// The domain and the code, if known, separated by a blank.
    fileprivate var name: String? {
        let parts = [domain, code.map { "\($0)" }].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: " ")
    }
}
