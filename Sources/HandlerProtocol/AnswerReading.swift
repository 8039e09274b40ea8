import HandlerKit

/// The reading of an answer: parses its members and collects the first problems.
struct AnswerReading {
    /// At most ``maximumProblems``; one of them is enough to refuse the answer.
    private(set) var problems: [AnswerRefusal.Problem] = []
    /// The JSON Pointer of the answer within its protocol line; the pointers of problems are relative to it.
    private let base: String

    /// Starts reading the answer `root`.
    init(_ root: JSONValue) { base = root.pointer }

    static let passage = "balloon-handler/1, \"The answer\""
    private static let textMembers = [
        "type", "body", "attachments", "subject", "locale", "intent", "group", "fallback", "id", "v",
        "sourceId", "destinationId",
    ]
    private static let fileMembers = ["path", "name", "mimeType"]
    /// The maximum number of problems that are listed.
    private static let maximumProblems = 100

    mutating func report(_ rule: String, at value: JSONValue, found: String? = nil, allowed: String) {
        guard problems.count < Self.maximumProblems else { return }
        problems.append(
            AnswerRefusal.Problem(
                rule: rule, pointer: pointer(of: value), found: found ?? value.shortened, allowed: allowed,
                passage: Self.passage))
    }

    private mutating func add(_ found: [MessageProblem], at value: JSONValue) {
        let errors = AnswerRefusal(found, at: pointer(of: value))?.problems ?? []
        problems += errors.prefix(Self.maximumProblems - problems.count)
    }

    private func pointer(of value: JSONValue) -> String { String(value.pointer.dropFirst(base.count)) }

    /// Reports a problem if `value` is not an object, and one for each member whose name is not in `names`.
    mutating func check(_ value: JSONValue, as names: [String]) {
        guard value.kind == .object else { return report("type", at: value, allowed: "an object") }
        var members = value.members
        while let (name, member) = members.nextWithBytes() {
            if names.contains(where: { $0.utf8.elementsEqual(name) }) { continue }
            report(
                "unknownMember", at: member, found: shortText(name, maximumScalars: 40),
                allowed: names.joined(separator: " "))
        }
    }

    mutating func replies(_ value: JSONValue?, _ allowingFiles: Bool) -> [Reply] {
        guard let value, !value.isNull else { return [] }
        guard value.kind == .array else {
            report("type", at: value, allowed: "a list")
            return []
        }
        let maximum = ProtocolVersion.maximumReplies
        guard value.count <= maximum else {
            report("replyCount", at: value, found: "\(value.count) replies", allowed: "at most \(maximum)")
            return []
        }
        var replies: [Reply] = []
        for element in value.elements {
            if let reply = reply(element, allowingFiles) { replies.append(reply) }
        }
        return replies
    }

    mutating func reply(_ value: JSONValue, _ allowingFiles: Bool) -> Reply? {
        if let text = value.string {
            if text.isEmpty { report("empty", at: value, allowed: "a text that is not empty") }
            return text.isEmpty ? nil : .text(text)
        }
        guard value.kind == .object else {
            report("type", at: value, allowed: "a text or a message")
            return nil
        }
        if let attachments = value["attachments"], attachments.elements.contains(where: { $0["path"] != nil })
        {
            guard allowingFiles else {
                report(
                    "attachmentFile", at: attachments, found: "files by their paths",
                    allowed:
                        "no files: only a child process attaches files, and only in the answer to an event")
                return nil
            }
            if value["type"]?.equals("text") ?? false { return textWithFiles(value, attachments) }
        }
        do {
            let document = try JSONDocument(Array(value.text))
            if LivePersonMessage.isMetadata(document.root) { return livePerson(document.root, at: value) }
            return try Reply(json: document)
        } catch let error as InvalidMessage {
            add(error.problems, at: value)
        } catch {
            report("json", at: value, found: "\(error)", allowed: "one JSON value")
        }
        return nil
    }

    /// Converts LivePerson's metadata to the message bubble of an iMessage app, as `balloon convert
    /// liveperson` does.
    ///
    /// Returns nil after reporting a problem.
    private mutating func livePerson(_ metadata: JSONValue, at value: JSONValue) -> Reply? {
        let reading = LivePersonMessage.read(metadata, imageHosts: [])
        add(reading.problems, at: value)
        return reading.message.map { .app($0.request) }
    }

    /// Reads a text whose attachments are files with absolute paths; returns nil after reporting a problem.
    private mutating func textWithFiles(_ value: JSONValue, _ attachments: JSONValue) -> Reply? {
        let before = problems.count
        check(value, as: Self.textMembers)
        if let body = value["body"], body.string == nil { report("type", at: body, allowed: "a text") }
        var files: [OutboundFile] = []
        for attachment in attachments.elements {
            check(attachment, as: Self.fileMembers)
            guard let path = attachment["path"]?.string, path.utf8.first == UInt8(ascii: "/"),
                !path.utf8.contains(0)
            else {
                report("attachmentPath", at: attachment["path"] ?? attachment, allowed: "an absolute path")
                continue
            }
            files.append(
                OutboundFile(
                    path: path, name: attachment["name"]?.string, mimeType: attachment["mimeType"]?.string))
        }
        return problems.count == before ? .text(value["body"]?.string ?? "", files: files) : nil
    }

    mutating func delay(_ value: JSONValue?) -> Duration? {
        guard let value, !value.isNull else { return nil }
        if let milliseconds = value.int, milliseconds >= 0 { return .milliseconds(milliseconds) }
        report("type", at: value, allowed: "a whole number of milliseconds, 0 or more")
        return nil
    }

    /// Reads the handler's reason and cuts it to the length that is kept.
    mutating func reason(_ value: JSONValue?) -> String {
        text(value, maximumBytes: Outcome.maximumReasonBytes) ?? "no reason given"
    }

    /// Reads a text for the people of the business and cuts it to a length that is kept; nil when it is absent.
    mutating func text(_ value: JSONValue?, maximumBytes: Int = 1000) -> String? {
        guard let value, !value.isNull else { return nil }
        if value.string == nil { report("type", at: value, allowed: "a text") }
        return value.string?.cut(toBytes: maximumBytes)
    }

    /// Reads a priority; nil when it is absent.
    mutating func priority(_ value: JSONValue?) -> Int? {
        guard let value, !value.isNull else { return nil }
        if let number = value.int, (0...9).contains(number) { return number }
        report("type", at: value, allowed: "a whole number from 0 to 9")
        return nil
    }

    /// Reads the new state: an object, or null to delete the state.
    ///
    /// Returns nil when the state does not change, or after reporting a problem.
    mutating func state(_ value: JSONValue?) -> JSONValue? {
        guard let value, !value.isNull else { return value }
        guard value.kind == .object else {
            report("type", at: value, allowed: "an object or null")
            return nil
        }
        let maximum = ConversationState.maximumBytes
        guard value.text.count <= maximum else {
            report(
                "stateSize", at: value, found: "\(value.text.count) bytes",
                allowed: "at most \(maximum) bytes")
            return nil
        }
        return value
    }
}
