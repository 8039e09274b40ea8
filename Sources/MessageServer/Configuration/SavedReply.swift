import BalloonJSON
package import BusinessMessages

/// A text or a message that people send often.
///
/// ```json
/// {"id": "hours", "title": "Opening hours", "text": "Hello {customer}, we are open from 9 to 18.", "queue": "general"}
/// {"id": "sizes", "title": "Choose a size", "message": {"type": "interactive", "interactiveData": {}, "fallback": "Which size?"}}
/// ```
/// `{customer}`, `{person}` and `{business}` in its texts are replaced with names before it is sent.
package struct SavedReply: Hashable, Sendable {
    /// The content that is sent.
    package enum Content: Hashable, Sendable {
        case text(String)
        /// A message as Apple describes it, with a `fallback` if it has one: a JSON object.
        case message([UInt8])
    }

    /// The identifier: 1 to 64 of `a-z`, `0-9` and `-`.
    package let id: String
    /// The title in the list of saved replies.
    package let title: String
    /// The content.
    package let content: Content
    /// The kind of the message; `text` for a text.
    package let kind: Kind
    /// The queue whose people see the saved reply; nil means everybody.
    package let queue: String?
    /// The files that are sent with a text.
    let files: [File]

    /// A file that was uploaded, as a message names it.
    struct File: Hashable, Sendable {
        let id: String
        let name: String
        let mimeType: String
    }

    /// The maximum number of saved replies of a business.
    static let maximumCount = 500
    /// The maximum length of a text or a message in UTF-8.
    static let maximumBytes = 64 << 10

    /// Reads the members beside the id; nil when one is missing, of another form or too long.
    init?(id: String, _ json: JSONValue) {
        guard let title = json["title"]?.string, (1...200).contains(title.utf8.count),
            !title.allSatisfy(\.isWhitespace), json["queue"] == nil || json["queue"]?.string != nil,
            json["attachments"] == nil || json["message"] == nil,
            let attachments = try? SendingBody.attachments(json)
        else { return nil }
        switch (json["text"], json["message"]) {
        case (let text?, nil):
            guard let text = text.string, text.utf8.count <= Self.maximumBytes,
                !text.allSatisfy(\.isWhitespace)
            else { return nil }
            content = .text(text)
            kind = .text
        case (nil, let message?):
            guard let known = Self.kind(of: message) else { return nil }
            kind = known
            content = .message(Array(message.text))
        default: return nil
        }
        (self.id, self.title, queue) = (id, title, json["queue"]?.string)
        files = attachments.map { File(id: $0.id, name: $0.name, mimeType: $0.mimeType) }
    }

    /// The kind of a message that can be sent without files of the machine; nil for another value.
    private static func kind(of json: JSONValue) -> Kind? {
        guard json.kind == .object, json.text.count <= maximumBytes,
            let document = try? JSONDocument(Array(json.text)),
            let message = try? OutboundMessage(json: document)
        else { return nil }
        return message.hasFiles || [.authentication, .applePay].contains(message.kind) ? nil : message.kind
    }

    /// Writes the members of the saved reply.
    func write(to writer: inout JSONWriter) {
        writer.fields(["id": id, "title": title])
        switch content {
        case .text(let text): writer.field("text", text)
        case .message(let message): writer.raw("message", message)
        }
        if !files.isEmpty {
            writer.objects("attachments", files) { file, writer in
                writer.fields(["id": file.id, "name": file.name, "mimeType": file.mimeType])
            }
        }
        writer.fields(["kind": kind.rawValue, "queue": queue])
    }
}

extension PeopleConfiguration {
    /// Reads `savedReplies`.
    mutating func readSavedReplies(_ reader: inout ObjectReader) {
        var known: Set<String> = []
        savedReplies =
            reader.objects("savedReplies", maximum: SavedReply.maximumCount) { reader in
                Self.readSavedReply(&reader, &known)
            } ?? []
        let queues = Set(queues.map(\.id))
        for reply in savedReplies where reply.queue.map({ !queues.contains($0) }) ?? false {
            reader.problem(
                "has the saved reply \"\(reply.id)\" of a queue that does not exist",
                hint: "name one of \"queues\", or leave \"queue\" out")
        }
    }

    private static func readSavedReply(
        _ reader: inout ObjectReader, _ known: inout Set<String>
    ) -> SavedReply? {
        reader.require(
            "id", "title",
            hint: "write {\"id\": \"hours\", \"title\": \"Hours\", \"text\": \"We open at 9.\"}")
        let id = reader.identifier(
            &known, "has the id of another saved reply", hint: "name each one differently")
        let (title, text) = (reader.text("title"), reader.text("text"))
        let (message, queue) = (reader.anyObject("message"), reader.text("queue"))
        let json = JSONWriter.object { writer in
            writer.fields(["title": title?.text, "text": text?.text])
            if let message { writer.raw("message", message.text) }
            writer.field("queue", queue?.text)
        }
        // The text was written as JSON just now.
        guard let root = (try? JSONDocument(json))?.root, let reply = SavedReply(id: id, root) else {
            reader.problem(
                "is no saved reply with either a \"text\" or a \"message\" that balloon validate accepts",
                hint: "write a title of at most 200 bytes, and one of them with at most 64 KiB")
            return nil
        }
        return reply
    }
}
