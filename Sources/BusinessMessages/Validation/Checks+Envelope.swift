internal import BalloonJSON

extension Checks {
    /// Checks a whole message of a business; the members that the server adds are required if `needsEnvelope`.
    static func message(needsEnvelope: Bool) -> Check {
        { value, inspection in
            inspection.inspect(
                value, as: envelope(isRequired: needsEnvelope) + (needsEnvelope ? [] : drafts),
                in: "Common Specifications",
                then: { message, inspection in
                    content(of: message, &inspection)
                    addresses(of: message, &inspection)
                })
        }
    }

    static let types = ["text", "interactive", "richLink", "typing_start", "typing_end"]

    private static func envelope(isRequired: Bool) -> [Member] {
        func envelope(_ name: String, _ check: @escaping Check) -> Member {
            Member(name: name, isRequired: isRequired, check: check)
        }
        return [
            .required("type", oneOf(types, .messageType)), envelope("id", uuid(.messageIdentifier)),
            envelope("v", version), envelope("sourceId", words), envelope("destinationId", words),
            .optional("locale", nullable(locale)), .optional("intent", text), .optional("group", text),
            .optional("body", text), .optional("subject", text),
            .optional("attachments", list(of: attachment)), .optional("richLinkData", richLink),
            .optional("richLinkDataRef", uploadedLink), .optional("preview", preview),
            .optional("interactiveData", interactiveData),
            .optional("interactiveDataRef", uploadedInteraction),
        ]
    }

    /// The members that only the server reads; it does not send them to Apple.
    private static let drafts: [Member] = [
        .optional("fallback", words), .optional("reusable", boolean), .optional("page", boolean),
        .optional("purpose", words),
    ]

    private static let version: Check = { value, inspection in
        guard let number = value.int else {
            return inspection.report(.type, at: value, allowed: "the number 1")
        }
        if number != 1 { inspection.report(.protocolVersion, at: value, allowed: "1") }
    }

    /// Checks that a message has the content that its type requires, and no content of other types.
    private static func content(of message: JSONValue, _ inspection: inout Inspection) {
        let type = types.first { message["type"]?.equals($0) ?? false }
        if let type, let own = contents[type] {
            for name in contentNames where !own.contains(name) {
                guard let member = message[name] else { continue }
                inspection.report(
                    .typeContent, at: member, found: "\(name) in a message of the type \(type)",
                    allowed: own.isEmpty ? "no content" : own.joined(separator: " "))
            }
        }
        switch type {
        case "text": checkText(of: message, &inspection)
        case "richLink":
            one(of: ["richLinkData", "richLinkDataRef", "preview"], in: message, .linkContent, &inspection)
        case "interactive":
            one(of: ["interactiveData", "interactiveDataRef"], in: message, .interactiveContent, &inspection)
        default: break
        }
        if message["reusable"]?.bool == true, !isReusable(message) {
            inspection.report(
                .reusableContent, at: message["reusable"] ?? message,
                allowed: "true in a quick reply, list picker, time picker or form")
        }
    }

    private static func isReusable(_ message: JSONValue) -> Bool {
        let data = message["interactiveData"]?["data"]
        return ["quick-reply", "listPicker", "event", "dynamic"].contains { data?[$0] != nil }
    }

    /// The names of the content members that each type may have.
    ///
    /// `attachments` are allowed in interactive messages, because Apple's sample has them.
    private static let contents: [String: [String]] = [
        "text": ["body", "subject", "attachments"],
        "interactive": ["interactiveData", "interactiveDataRef", "attachments"],
        "richLink": ["richLinkData", "richLinkDataRef", "preview", "body", "subject"],
        "typing_start": [], "typing_end": [],
    ]

    private static let contentNames = [
        "body", "subject", "attachments", "richLinkData", "richLinkDataRef", "preview", "interactiveData",
        "interactiveDataRef",
    ]

    private static func checkText(of message: JSONValue, _ inspection: inout Inspection) {
        guard let body = message["body"] else {
            return inspection.report(.required, at: message, missing: "body", allowed: "body, always")
        }
        guard let text = body.string else { return }
        if text.isEmpty { inspection.report(.empty, at: body, allowed: "a text that is not empty") }
        if !text.webLinks().isEmpty {
            inspection.report(
                .textLink, at: body, found: "a web address", allowed: "words; the address as a rich link")
        }
        let markers = text.unicodeScalars.count { $0 == "\u{FFFC}" }
        let attachments = message["attachments"]?.count ?? 0
        if markers != attachments {
            inspection.report(
                .attachmentMarkers, at: body, found: "\(markers) of U+FFFC",
                allowed: "\(attachments), one per attachment")
        }
    }

    private static func one(
        of names: [String], in message: JSONValue, _ rule: MessageRule, _ inspection: inout Inspection
    ) {
        let found = names.filter { message[$0] != nil }
        guard found.count != 1 else { return }
        inspection.report(
            rule, at: message, found: found.isEmpty ? "none" : found.joined(separator: " and "),
            allowed: names.joined(separator: " or "))
    }

    private static func addresses(of message: JSONValue, _ inspection: inout Inspection) {
        if let source = message["sourceId"], source.textBytes?.starts(with: "urn:biz:".utf8) ?? false {
            inspection.report(
                .sourceAddress, at: source, allowed: "the identifier of the business without urn:biz:")
        }
        guard let destination = message["destinationId"], let text = destination.textBytes, !text.isEmpty
        else { return }
        if message["interactiveData"]?["data"]?["notification"] != nil {
            guard !text.starts(with: "tel:+".utf8) else { return }
            inspection.report(.destinationAddress, at: destination, allowed: "tel:+ and a number")
        } else if text.starts(with: "urn:biz:".utf8)
            || text.starts(with: "tel:".utf8) && message["interactiveDataRef"] == nil
        {
            inspection.report(
                .destinationAddress, at: destination,
                allowed: "the customer's opaque identifier; tel: is for invitations")
        }
    }
}
