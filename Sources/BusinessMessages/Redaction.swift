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
        case .authentication: rule = RedactionRule(section: "authenticate", secrets: authenticationSecrets)
        case .applePay: rule = RedactionRule(section: nil, secrets: paymentSecrets)
        case .form(let form) where form.isPrivate:
            rule = RedactionRule(section: "dynamic", secrets: formSecrets)
        case .text, .quickReply, .listPicker, .timePicker, .form, .app, .invitation, .typingStart, .typingEnd,
            .close, .unrecognized:
            return nil
        }
        var writer = JSONWriter(reservingCapacity: message.text.count)
        let hasChanged = writer.write(message, without: rule)
        return hasChanged ? writer.finish() : nil
    }
}

/// Members whose values are not kept, by name: in one section of `data`, or in all of it.
private struct RedactionRule {
    let section: String?
    let secrets: Set<String>
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
        guard let section = rule.section else { return redact(data, rule.secrets) }
        guard data.kind == .object else {
            value(data)
            return false
        }
        var hasChanged = false
        object { writer in
            for (key, member) in data.members {
                writer.key(key)
                if key == section {
                    hasChanged = writer.redact(member, rule.secrets) || hasChanged
                } else {
                    writer.value(member)
                }
            }
        }
        return hasChanged
    }

    /// Writes `value` with every member named in `secrets` replaced, at any depth (bounded by the document's own).
    private mutating func redact(_ value: JSONValue, _ secrets: Set<String>) -> Bool {
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
