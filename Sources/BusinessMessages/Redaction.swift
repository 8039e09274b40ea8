internal import BalloonJSON

extension InboundEvent {
    /// The text that replaces a value which must not be stored.
    package static let redactedText = "[not kept]"
    /// The number of bytes of a payment's `requestIdentifier` that people see.
    ///
    /// The whole identifier of an open request gives access to its payment endpoints.
    package static let shownIdentifierLength = 8

    /// The message without the secrets of a sign-in or a payment, and without the answers of a private form;
    /// nil when it contains none of them and may be stored unchanged.
    ///
    /// Every member stays in its place; only its value is replaced with ``redactedText``. The
    /// `requestIdentifier` of a payment is cut to ``shownIdentifierLength``.
    package var redactedMessage: [UInt8]? { RedactionRule(of: message, .inbound).redacted(message) }
}

extension OutboundMessage {
    /// A business's message without the secrets of a sign-in or a payment; nil when it contains none of them and
    /// may be stored unchanged.
    ///
    /// A private form is the business's question, so it stays as it is. Every member stays in its place; only its
    /// value is replaced with ``InboundEvent/redactedText``.
    package static func redacted(_ message: JSONValue) -> [UInt8]? {
        RedactionRule(of: message, .outbound).redacted(message)
    }

    /// Whether a business's message has ``InboundEvent/redactedText`` in the place of a secret, so that it must not
    /// be sent.
    package static func holdsRedactedText(_ message: JSONValue) -> Bool {
        let rule = RedactionRule(of: message, .outbound)
        return !rule.isEmpty && message.holdsRedactedText(.message, rule)
    }
}

extension JSONValue {
    /// The document's depth limit bounds the recursion.
    fileprivate func holdsRedactedText(_ part: MessagePart, _ rule: RedactionRule) -> Bool {
        switch kind {
        case .object: holdsRedactedMember(part, rule)
        case .array: elements.contains { $0.holdsRedactedText(part, rule) }
        case .string, .number, .boolean, .null: false
        }
    }

    private func holdsRedactedMember(_ part: MessagePart, _ rule: RedactionRule) -> Bool {
        var all = members
        while let (bytes, member) = all.nextWithBytes() {
            let key = RedactionRule.name(bytes)
            if part.redacts(key, rule) {
                if member.equals(InboundEvent.redactedText) { return true }
            } else if part.part(of: key, rule).map({ member.holdsRedactedText($0, rule) }) ?? false {
                return true
            }
        }
        return false
    }
}

/// The names of the members whose values are redacted in one message.
private struct RedactionRule {
    /// The names that are redacted inside one section, a member of `data` such as `dynamic`; the key is its
    /// name.
    var sections: [String: Set<String>] = [:]
    /// The names that are redacted anywhere in `data`.
    var everywhere: Set<String> = []
    /// The names of bubbles that are redacted as members of `data` or of `interactiveData`.
    var bubbles: Set<String> = []
    /// Whether the `requestIdentifier` of `data` is cut.
    var cutsIdentifier = false

    /// A member's name for a lookup; empty for a name that is longer than every name that is redacted.
    ///
    /// A long name from outside is never hashed, because that takes time proportional to the square of a run of
    /// combining marks.
    static func name(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.count > 64 ? "" : String(decoding: bytes, as: UTF8.self)
    }

    var isEmpty: Bool { sections.isEmpty && everywhere.isEmpty && bubbles.isEmpty }

    /// Chooses the names to redact by looking for the members that mean a sign-in, a private form or a
    /// payment.
    ///
    /// It looks at every place that decoding accepts. It does not decode the message itself, because a
    /// message with too many parts is never decoded.
    init(of message: JSONValue, _ direction: Direction) {
        for interactiveData in message["interactiveData"]?.objects ?? [] {
            for data in interactiveData["data"]?.objects ?? [] { add(data, direction) }
        }
    }

    /// The message with the values of these members replaced; nil when it has none of them.
    func redacted(_ message: JSONValue) -> [UInt8]? {
        if isEmpty { return nil }
        var writer = JSONWriter(reservingCapacity: message.text.count)
        let hasChanged = writer.write(message, .message, without: self)
        return hasChanged ? writer.finish() : nil
    }

    private mutating func add(_ data: JSONValue, _ direction: Direction) {
        if data["authenticate"] != nil { sections["authenticate"] = authenticationSecrets }
        if direction == .inbound, data["dynamic"]?.objects.contains(where: Form.isPrivate) ?? false {
            sections["dynamic"] = formSecrets
            // The customer's bubble shows the answers as well.
            bubbles = ["replyMessage"]
        }
        if ApplePay.isShown(in: data) { (everywhere, cutsIdentifier) = (paymentSecrets, true) }
    }

    /// The names that are redacted in the section with this name.
    func secrets(in section: String) -> Set<String> {
        sections[section].map { $0.union(everywhere) } ?? everywhere
    }
}

/// The names of a sign-in's secrets.
///
/// The last three are in the business's request; its `state` alone suffices to complete the customer's sign-in.
private let authenticationSecrets: Set = [
    "token", "code", "access_token", "id_token", "refresh_token", "state", "clientSecret",
    "additionalParameters",
]
/// The names of a payment's secrets.
///
/// Apple does not document the result of a payment, so the first four are all names that contain the token in similar
/// APIs. The last two are in the business's request: Apple's merchant session, and addresses that may contain a token.
private let paymentSecrets: Set = [
    "paymentToken", "token", "paymentData", "transactionIdentifier", "merchantSession", "endpoints",
]
/// The identifier of an item is included, because it reveals the answer just as the value does.
private let formSecrets: Set = ["value", "title", "identifier"]

/// The part of a message that is being written; it decides which members are redacted.
private enum MessagePart {
    case message, interactiveData, data
    /// A section: a member of `data`, with the names that are redacted anywhere in it.
    case section(Set<String>)

    /// The part to which a member of this part belongs; nil when nothing in the member is redacted.
    func part(of member: String, _ rule: RedactionRule) -> MessagePart? {
        switch self {
        case .message: member == "interactiveData" ? .interactiveData : nil
        case .interactiveData: member == "data" ? .data : nil
        case .data: rule.secrets(in: member).isEmpty ? nil : .section(rule.secrets(in: member))
        // The `code` of a device's error is a number that Apple defines, not an authorization code: keep it.
        case .section(let secrets): member == "errors" ? .section(secrets.subtracting(["code"])) : self
        }
    }

    /// Returns the part of an identifier that stays; nil for a value that is not cut.
    func cut(_ value: JSONValue, of member: String, _ rule: RedactionRule) -> String? {
        guard case .data = self, rule.cutsIdentifier, member == "requestIdentifier", let text = value.string,
            text.utf8.count > InboundEvent.shownIdentifierLength
        else { return nil }
        return text.cut(toBytes: InboundEvent.shownIdentifierLength)
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
    /// Writes a part of a message with its secrets replaced; returns whether a value was replaced.
    ///
    /// The elements of a list are treated as the list's own part, since decoding accepts a list where an object is
    /// expected. The document's depth limit bounds the recursion.
    fileprivate mutating func write(
        _ value: JSONValue, _ part: MessagePart, without rule: RedactionRule
    ) -> Bool {
        var hasChanged = false
        switch value.kind {
        case .object:
            object { writer in
                var all = value.members
                while let (bytes, member) = all.nextWithBytes() {
                    let key = RedactionRule.name(bytes)
                    writer.key(String(decoding: bytes, as: UTF8.self))
                    let isSecret = !member.isNull && !member.equals(SignInRequest.placeholder)
                    if part.redacts(key, rule), isSecret {
                        writer.string(InboundEvent.redactedText)
                        hasChanged = true
                    } else if let cut = part.cut(member, of: key, rule) {
                        writer.string(cut)
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
