internal import BalloonJSON

extension InboundEvent {
    /// The replacement of a value that must not be stored.
    package static let redactedText = "[not kept]"

    /// The message without payment tokens, authentication tokens and codes, and answers of a private form;
    /// nil when it contains none of them and may be stored unchanged.
    ///
    /// Every member stays in its place; only its value is replaced with ``redactedText``.
    package var redactedMessage: [UInt8]? {
        let rule = RedactionRule(of: message)
        if rule.isEmpty { return nil }
        var writer = JSONWriter(reservingCapacity: message.text.count)
        let hasChanged = writer.write(message, .message, without: rule)
        return hasChanged ? writer.finish() : nil
    }
}

/// The members whose values are redacted, by name.
private struct RedactionRule {
    /// In sections of `data`, by the section's name.
    var sections: [String: Set<String>] = [:]
    /// Anywhere in `data`.
    var everywhere: Set<String> = []
    /// In `data` and in `interactiveData` themselves.
    var bubbles: Set<String> = []

    var isEmpty: Bool { sections.isEmpty && everywhere.isEmpty && bubbles.isEmpty }

    /// Chooses the names by the message's members, at every place that decoding accepts and without decoding: a
    /// message with too many parts is not decoded.
    init(of message: JSONValue) {
        for interactiveData in message["interactiveData"]?.objects ?? [] {
            for data in interactiveData["data"]?.objects ?? [] { add(data) }
        }
    }

    private mutating func add(_ data: JSONValue) {
        if data["authenticate"] != nil { sections["authenticate"] = authenticationSecrets }
        if data["dynamic"]?.objects.contains(where: Form.isPrivate) ?? false {
            sections["dynamic"] = formSecrets
            // The customer's bubble shows the answers.
            bubbles = ["replyMessage"]
        }
        if ApplePay.isShown(in: data) { everywhere = paymentSecrets }
    }

    /// The names that are redacted in a section, or in `data` itself.
    func secrets(in section: String) -> Set<String> {
        sections[section].map { $0.union(everywhere) } ?? everywhere
    }
}

private let authenticationSecrets: Set = ["token", "code", "access_token", "id_token", "refresh_token"]
/// Apple does not document the result's shape, so every name that contains the token elsewhere is included.
private let paymentSecrets: Set = ["paymentToken", "token", "paymentData", "transactionIdentifier"]
/// The identifier of an item names the answer as its value does.
private let formSecrets: Set = ["value", "title", "identifier"]

/// The part of a message that an object belongs to.
private enum MessagePart {
    case message, interactiveData, data
    /// A member of `data` with the names that are redacted in it.
    case section(Set<String>)

    /// The part of a member; nil when nothing in it is redacted.
    func part(of member: String, _ rule: RedactionRule) -> MessagePart? {
        switch self {
        case .message: member == "interactiveData" ? .interactiveData : nil
        case .interactiveData: member == "data" ? .data : nil
        case .data: rule.secrets(in: member).isEmpty ? nil : .section(rule.secrets(in: member))
        // The code of a device's error is a number that Apple defines, not an authorization code.
        case .section(let secrets): member == "errors" ? .section(secrets.subtracting(["code"])) : self
        }
    }

    func redacts(_ member: String, _ rule: RedactionRule) -> Bool {
        switch self {
        case .message: false
        case .interactiveData: rule.bubbles.contains(member)
        case .data: rule.bubbles.contains(member) || rule.everywhere.contains(member)
        case .section(let secrets): secrets.contains(member)
        }
    }
}

extension JSONWriter {
    /// Writes a part of a message redacted; returns whether a value was redacted.
    ///
    /// A list stands for its elements, since decoding accepts a list where an object is expected. The recursion
    /// is bounded by the document's depth.
    fileprivate mutating func write(
        _ value: JSONValue, _ part: MessagePart, without rule: RedactionRule
    ) -> Bool {
        var hasChanged = false
        switch value.kind {
        case .object:
            object { writer in
                for (key, member) in value.members {
                    writer.key(key)
                    if part.redacts(key, rule), !member.isNull {
                        writer.string(InboundEvent.redactedText)
                        hasChanged = true
                    } else if let inner = part.part(of: key, rule) {
                        hasChanged = writer.write(member, inner, without: rule) || hasChanged
                    } else {
                        writer.value(member)
                    }
                }
            }
        case .array:
            array { writer in
                for element in value.elements {
                    hasChanged = writer.write(element, part, without: rule) || hasChanged
                }
            }
        case .string, .number, .boolean, .null: self.value(value)
        }
        return hasChanged
    }
}
