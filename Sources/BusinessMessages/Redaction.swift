internal import BalloonJSON

extension InboundEvent {
    /// The replacement of a value that must not be stored.
    package static let redactedText = "[not kept]"

    /// The message without payment tokens, authentication tokens and codes, and answers of a private form;
    /// nil when it contains none of them and may be stored unchanged.
    ///
    /// Every member stays in its place; only its value is replaced with ``redactedText``.
    package var redactedMessage: [UInt8]? {
        let rule: RedactionRule
        switch content {
        case .authentication: rule = .authentication
        case .applePay: rule = .payment
        case .form(let form) where form.isPrivate: rule = .privateForm
        // A message with too many parts is not decoded, and may be any of the three kinds.
        case .unrecognized(let unrecognized) where unrecognized.excess != nil:
            rule = RedactionRule(of: message)
        case .text, .quickReply, .listPicker, .timePicker, .form, .app, .invitation, .typingStart, .typingEnd,
            .close, .unrecognized:
            return nil
        }
        var writer = JSONWriter(reservingCapacity: message.text.count)
        let hasChanged = writer.write(message, without: rule)
        return hasChanged ? writer.finish() : nil
    }
}

/// The members whose values are redacted, by name: in sections of `data`, or in all of it.
private struct RedactionRule {
    /// The names by section.
    var sections: [String: Set<String>] = [:]
    var everywhere: Set<String> = []

    static let authentication = RedactionRule(sections: ["authenticate": authenticationSecrets])
    static let payment = RedactionRule(everywhere: paymentSecrets)
    static let privateForm = RedactionRule(sections: ["dynamic": formSecrets])

    /// The names that are redacted in a section, or in `data` itself.
    func secrets(in section: String) -> Set<String> {
        sections[section].map { $0.union(everywhere) } ?? everywhere
    }
}

extension RedactionRule {
    /// Chooses the rule by the message's members, without decoding its parts.
    init(of message: JSONValue) {
        let data = message["interactiveData"]?.object?["data"]?.object
        if data?["authenticate"] != nil { sections["authenticate"] = authenticationSecrets }
        if let form = data?["dynamic"]?.object, Form.isPrivate(form) { sections["dynamic"] = formSecrets }
        if let data, ApplePay.isShown(in: data) { everywhere = paymentSecrets }
    }
}

private let authenticationSecrets: Set = ["token", "code", "access_token", "id_token", "refresh_token"]
/// Apple does not document the result's shape, so every name that contains the token elsewhere is included.
private let paymentSecrets: Set = ["paymentToken", "token", "paymentData", "transactionIdentifier"]
private let formSecrets: Set = ["value", "title"]

extension JSONWriter {
    /// Writes a message, with `interactiveData.data` redacted; returns whether a value was redacted.
    fileprivate mutating func write(_ value: JSONValue, without rule: RedactionRule) -> Bool {
        guard value.kind == .object else {
            self.value(value)
            return false
        }
        var hasChanged = false
        object { writer in
            for (key, member) in value.members {
                writer.key(key)
                if key == "interactiveData" {
                    hasChanged = writer.write(member, without: rule) || hasChanged
                } else if key == "data" {
                    hasChanged = writer.writeData(member, rule) || hasChanged
                } else {
                    writer.value(member)
                }
            }
        }
        return hasChanged
    }

    private mutating func writeData(_ data: JSONValue, _ rule: RedactionRule) -> Bool {
        guard data.kind == .object else { return redact(data, rule.everywhere) }
        var hasChanged = false
        object { writer in
            for (key, member) in data.members {
                writer.key(key)
                if rule.everywhere.contains(key), !member.isNull {
                    writer.string(InboundEvent.redactedText)
                    hasChanged = true
                } else {
                    hasChanged = writer.redact(member, rule.secrets(in: key)) || hasChanged
                }
            }
        }
        return hasChanged
    }

    /// Writes `value` with every member in `secrets` redacted, at any depth (bounded by the document's
    /// depth).
    private mutating func redact(_ value: JSONValue, _ secrets: Set<String>) -> Bool {
        guard !secrets.isEmpty else {
            self.value(value)
            return false
        }
        var hasChanged = false
        switch value.kind {
        case .object:
            object { writer in
                for (key, member) in value.members {
                    writer.key(key)
                    if secrets.contains(key), !member.isNull {
                        writer.string(InboundEvent.redactedText)
                        hasChanged = true
                    } else {
                        hasChanged = writer.redact(member, secrets) || hasChanged
                    }
                }
            }
        case .array:
            array { writer in
                for element in value.elements { hasChanged = writer.redact(element, secrets) || hasChanged }
            }
        case .string, .number, .boolean, .null: self.value(value)
        }
        return hasChanged
    }
}
