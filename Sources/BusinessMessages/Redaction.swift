internal import BalloonJSON

extension InboundEvent {
    /// What replaces a value that is never kept.
    package static let redactedText = "[not kept]"

    /// The message as it may be kept: without payment tokens, authentication tokens and codes, and without the answers
    /// of a private form; nil when there are none, and the message may be kept as it is.
    ///
    /// Every member stays where it was; only its value is replaced by ``redactedText``.
    package var redactedMessage: [UInt8]? {
        let rule: RedactionRule
        switch content {
        case .authentication: rule = .authentication
        case .applePay: rule = .payment
        case .form(let form) where form.isPrivate: rule = .privateForm
        // It has too many parts to be read, and may still be any of the three.
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

/// Members whose values are not kept, by name: in sections of `data`, or in all of it.
private struct RedactionRule {
    /// By the section's name.
    var sections: [String: Set<String>] = [:]
    var everywhere: Set<String> = []

    static let authentication = RedactionRule(sections: ["authenticate": authenticationSecrets])
    static let payment = RedactionRule(everywhere: paymentSecrets)
    static let privateForm = RedactionRule(sections: ["dynamic": formSecrets])

    /// What is not kept in a section, or in `data` itself.
    func secrets(in section: String) -> Set<String> {
        sections[section].map { $0.union(everywhere) } ?? everywhere
    }
}

extension RedactionRule {
    /// What applies to a message by what it has, without reading its parts.
    init(of message: JSONValue) {
        let data = message["interactiveData"]?.object?["data"]?.object
        if data?["authenticate"] != nil { sections["authenticate"] = authenticationSecrets }
        if let form = data?["dynamic"]?.object, Form.isPrivate(form) { sections["dynamic"] = formSecrets }
        if let data, ApplePay.isShown(in: data) { everywhere = paymentSecrets }
    }
}

private let authenticationSecrets: Set = ["token", "code", "access_token", "id_token", "refresh_token"]
/// Apple does not document the result's shape, so every name that carries the token elsewhere is taken.
private let paymentSecrets: Set = ["paymentToken", "token", "paymentData", "transactionIdentifier"]
private let formSecrets: Set = ["value", "title"]

extension JSONWriter {
    /// Writes a message, and `interactiveData.data` in it without secrets; whether anything was left out.
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

    /// Writes `value` with every member named in `secrets` replaced, at any depth (bounded by the document's own).
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
