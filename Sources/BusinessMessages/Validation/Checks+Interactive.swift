internal import BalloonJSON

extension Checks {
    /// The maximum number of characters of a bubble's text.
    static let maximumBubbleCharacters = 512

    private static let plugin = "com.apple.messages.MSMessageExtensionBalloonPlugin:"

    static let bid = text(.bid, allowed: plugin + "TEAM:EXTENSION") { text in
        let parts = text.utf8.split(
            separator: UInt8(ascii: ":"), maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count == 3 && text.utf8.starts(with: plugin.utf8) && parts.allSatisfy { !$0.isEmpty }
    }

    /// The members of `data` that determine a message's kind; a message has exactly one of them.
    private static let payloads: [(name: String, check: Check)] = [
        ("quick-reply", quickReply), ("listPicker", listPicker), ("event", event), ("dynamic", dynamic),
        ("payment", payment), ("authenticate", authenticate), ("notification", notification),
    ]

    /// The members whose messages have no bubbles: a quick reply has its own layout, and an invitation uses a template.
    private static let bubbleless: Set = ["quick-reply", "notification"]

    static let interactiveData: Check = { value, inspection in
        let isApps =
            value["bid"].map { $0.kind == .string && !$0.equals(Interaction.businessExtension) } ?? false
        let (members, section) =
            isApps ? (app, "iMessage App") : (builtin, "BaseInteractiveMessage Dictionary")
        inspection.inspect(value, as: members, in: section) { value, inspection in
            guard isApps else { return checkBuiltin(value, &inspection) }
            checkApp(value, &inspection)
        }
    }

    /// The members that messages of Apple's own kinds and messages of iMessage apps have in common.
    static let common: [Member] = [
        .required("bid", bid), .optional("sessionIdentifier", uuid(.sessionIdentifier)),
        .optional("receivedMessage", bubble), .optional("replyMessage", bubble),
    ]

    private static let builtin: [Member] =
        common + [
            .required("data", data), .optional("appId", builtinMember), .optional("appName", builtinMember),
            // useLiveLayout is allowed, because Apple's samples have it in messages of all kinds.
            .optional("appIcon", builtinMember), .optional("useLiveLayout", boolean),
        ]

    private static let builtinMember = refuse(.builtinMember, allowed: "nothing; it is for iMessage apps")

    private static let data = object(
        "InteractiveMessageData Dictionary",
        [
            .optional("version", words), .optional("mspVersion", words),
            .required("requestIdentifier", all(words, requestIdentifier)),
            .optional("images", list(of: image)),
        ] + payloads.map { .optional($0.name, $0.check) },
        then: { data, inspection in
            // Apple's own samples use either `version` or `mspVersion`.
            if data["version"] == nil, data["mspVersion"] == nil {
                inspection.report(.required, at: data, missing: "version", allowed: "version, always")
            }
            checkVersion(of: data, &inspection)
            let found = payloads.filter { data[$0.name] != nil }
            guard found.count != 1 else { return }
            inspection.report(
                .interactiveKind, at: data,
                found: found.isEmpty ? "none" : found.map(\.name).joined(separator: " "),
                allowed: "one of " + payloads.map(\.name).joined(separator: " "))
        })

    private static func checkVersion(of data: JSONValue, _ inspection: inout Inspection) {
        let isSecond = data["authenticate"]?["oauth2"]?["redirectURI"] != nil
        for name in ["version", "mspVersion"] {
            guard let member = data[name], member.kind == .string, !member.isEmptyText,
                !member.equals(isSecond ? "2.0" : "1.0")
            else { continue }
            inspection.report(
                isSecond && member.equals("1.0") ? .authenticationVersion : .dataVersion, at: member,
                allowed: isSecond ? "2.0, for authentication with a redirectURI" : "1.0")
        }
    }

    private static let requestIdentifier = refuse(.requestIdentifier, allowed: "a UUID, by recommendation") {
        $0.nonEmptyString?.isUUID == false
    }

    private static func checkBuiltin(_ value: JSONValue, _ inspection: inout Inspection) {
        guard let data = value["data"] else { return }
        let kinds = payloads.map(\.name).filter { data[$0] != nil }
        let isBubbleless = kinds.allSatisfy(bubbleless.contains)
        if !isBubbleless, value["receivedMessage"] == nil {
            inspection.report(
                .required, at: value, missing: "receivedMessage", allowed: "receivedMessage, always")
        }
        for name in ["receivedMessage", "replyMessage"] {
            guard let bubble = value[name] else { continue }
            if kinds == ["quick-reply"] {
                inspection.report(.quickReplyBubbles, at: bubble, allowed: "no bubbles")
            }
            checkBubbleMembers(bubble, ofApp: false, &inspection)
        }
        if let style = value["receivedMessage"]?["style"], data["payment"] != nil, !style.equals("large") {
            inspection.report(.paymentStyle, at: style, allowed: "large")
        }
        checkImages(of: value, &inspection)
    }

    // Checks of bubbles.

    private static let bubbleText = text(atMost: maximumBubbleCharacters, .bubbleText)

    static let bubble = object(
        "InteractiveResponse Dictionary",
        [
            .required("title", text(atMost: maximumBubbleCharacters, .bubbleText, mayBeEmpty: false)),
            .optional("subtitle", bubbleText), .optional("imageTitle", bubbleText),
            .optional("imageSubtitle", bubbleText), .optional("secondarySubtitle", bubbleText),
            .optional("tertiarySubtitle", bubbleText), .optional("imageIdentifier", imageIdentifier),
            // Apple does not document this member, but its samples have it.
            .optional("alternateTitle", text),
            .optional("style", oneOf(OutboundBubble.Style.allCases.map(\.rawValue), .bubbleStyle)),
        ])

    static func checkBubbleMembers(_ bubble: JSONValue, ofApp isApps: Bool, _ inspection: inout Inspection) {
        let unseen =
            isApps
            ? ["imageIdentifier", "style"]
            : ["imageTitle", "imageSubtitle", "secondarySubtitle", "tertiarySubtitle"]
        for name in unseen {
            guard let member = bubble[name] else { continue }
            inspection.report(
                .bubbleMember, at: member, found: name,
                allowed: isApps ? "nothing; apps ignore it" : "nothing; it is for iMessage apps")
        }
    }
}
