package import BalloonJSON
package import HandlerKit

/// The parameters of `event`, and the body of an HTTP handler's request.
///
/// ```json
/// {"deliveryId": "42", "attempt": 1, "deadlineMs": 30000,
///  "event": {"id": "…", "kind": "quickReply", "business": "…", "customer": "…", "capabilities": ["QUICK"],
///            "locale": "en_US", "summary": "Rye", "selectedIdentifier": "rye", "message": {…}},
///  "files": [{"path": "/…/attachments/ab/ab12…", "size": 148861, "sha256": "ab12…"}, {"failure": "…"}],
///  "state": {"step": "colour"},
///  "history": [{"seq": 3, "at": "…", "direction": "inbound", "kind": "text", "id": "…", "message": {…}}]}
/// ```
/// Handlers that subscribe to it get the kind `replyFailed`, whose `message` is a `ReplyFailure`. For other kinds
/// `message` is the message as Apple sent it, with its resolved payload. For a long message, `messagePath`
/// names a file instead, which exists until the event is answered. `files` is present when the message has
/// attachments, in their order. `state` is the handler's state of the conversation. `locale`, `intent` and
/// `group` may be missing; `afterGap` is present when an earlier event of the conversation was parked.
/// In `history`, messages of the business have an `outcome`; a `queued` reply follows the others and has no `seq`.
package enum EventCall {
    /// The size limit of the included history; the latest entries have priority.
    private static let maximumHistoryBytes = 32 << 10
    /// The size limit of the values that repeat parts of a long message.
    private static let maximumHighlightBytes = 16 << 10
    /// The size limit of an attribute, which a device may make as long as a message.
    private static let maximumAttributeBytes = 1024
    private static let maximumSummaryLength = 1000

    /// Writes the members of the `params` of `event`; `messagePath` replaces the message when it is given.
    package static func write(_ context: Context, messagePath: String? = nil, to writer: inout JSONWriter) {
        writer.field("deliveryId", context.deliveryID.rawValue)
        writer.field("attempt", context.attempt)
        if context.isAfterGap { writer.field("afterGap", true) }
        writer.field("deadlineMs", max(0, (context.deadline - .now).milliseconds))
        writer.key("event")
        writer.object { writeEvent(of: context, messagePath: messagePath, to: &$0) }
        writer.key("state")
        if let state = context.state.json { writer.value(state) } else { writer.object { _ in } }
        if !context.files.isEmpty {
            writer.key("files")
            writer.array { writer in for file in context.files { write(file, to: &writer) } }
        }
        writer.key("history")
        writer.array { writer in
            for entry in latest(context.conversation.entries) { write(entry, to: &writer) }
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
        writer.key("capabilities")
        writer.array { writer in
            for capability in event.attributes.capabilities.tokens { writer.string(capability.rawValue) }
        }
        writer.field("locale", bounded(event.attributes.locale))
        writer.field("intent", bounded(event.attributes.intent))
        writer.field("group", bounded(event.attributes.group))
        if let failure = context.replyFailure {
            writer.field("summary", "a reply was not delivered: \(failure.status.rawValue)")
        } else {
            writer.field("summary", shortened(event.summary))
            if areShort(event) { writeHighlights(of: event.content, to: &writer) }
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

    /// Counts scalars: one character may have any number of combining marks.
    private static func shortened(_ summary: String) -> String {
        let scalars = summary.unicodeScalars
        guard
            let end = scalars.index(
                scalars.startIndex, offsetBy: maximumSummaryLength, limitedBy: scalars.endIndex),
            end < scalars.endIndex
        else { return summary }
        return String(scalars[..<end]) + "…"
    }

    /// Whether a program's line has room for the values that repeat parts of the message.
    private static func areShort(_ event: InboundEvent) -> Bool {
        event.message.text.count <= ProtocolVersion.maximumInlineBytes
            || JSONWriter.object { writeHighlights(of: event.content, to: &$0) }.count
                <= maximumHighlightBytes
    }

    /// Writes the most used values separately, so that a shell script finds them without knowing Apple's
    /// JSON.
    private static func writeHighlights(of content: Content, to writer: inout JSONWriter) {
        switch content {
        case .text(let text): writer.field("text", text.plainBody)
        case .quickReply(let reply): writer.field("selectedIdentifier", reply.selectedItem?.identifier)
        case .listPicker(let picker):
            writer.key("selectedIdentifiers")
            writer.array { writer in
                for item in picker.selectedItems { item.identifier.map { writer.string($0) } }
            }
        case .timePicker(let picker):
            writer.field("selectedIdentifier", picker.selectedTimeslot?.identifier)
            writer.field("startTime", picker.selectedTimeslot?.startTime)
        case .form(let form):
            writer.key("answers")
            writer.object { writer in
                for page in form.selections {
                    writer.key(page.pageIdentifier ?? "")
                    writer.array { writer in
                        for item in page.items { writer.string(item.value ?? item.title ?? "") }
                    }
                }
            }
        case .authentication, .applePay, .app, .invitation, .typingStart, .typingEnd, .close, .unrecognized:
            break
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
