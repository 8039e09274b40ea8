internal import BalloonJSON

extension Checks {
    /// The maximum length of an app's URL in bytes.
    static let maximumAppURLBytes = 64 << 10
    /// The icon of an app must have fewer than this number of bytes.
    static let appIconLimitBytes = 15_000

    static let app: [Member] =
        common.filter { $0.name != "receivedMessage" } + [
            .required("receivedMessage", bubble), .required("URL", appURL),
            .required("appId", looseIdentifier), .optional("appName", text),
            .optional("appIcon", all(base64, appIcon)), .optional("useLiveLayout", boolean),
            .optional("data", refuse(.appData, allowed: "no data; Apple refuses it for apps")),
        ]

    static let appURL = all(words, bytes(atMost: maximumAppURLBytes, .appURL))

    private static let appIcon: Check = { value, inspection in
        guard let bytes = value.base64Bytes?.count, bytes >= appIconLimitBytes else { return }
        inspection.report(
            .appIconBytes, at: value, found: "\(bytes) bytes",
            allowed: "fewer than \(appIconLimitBytes) bytes")
    }

    static func checkApp(_ value: JSONValue, _ inspection: inout Inspection) {
        for name in ["appName", "appIcon"] where value[name] == nil {
            inspection.report(
                .appDescription, at: value, missing: name, allowed: "\(name), for devices without the app")
        }
        for name in ["receivedMessage", "replyMessage"] {
            if let bubble = value[name] { checkBubbleMembers(bubble, ofApp: true, &inspection) }
        }
    }

    // Checks of invitations.

    static let notification = object(
        "invitations",
        [
            .required("templateId", all(words, invitationTemplate)),
            .required("referenceId", all(words, invitationReference)), .optional("locale", locale),
            .required(
                "parameters",
                object("invitations", [.required("brandName", words), .optional("brandLogo", text)])),
        ],
        then: all(
            refuse(.invitationLocale, missing: "locale", allowed: "a language such as en-us") {
                $0["locale"] == nil
            }, checkLogo))

    /// The maximum number of characters of an invitation's reference.
    static let maximumReferenceCharacters = 1000

    /// Checks the form of a template's name: `binaryChoice`, a purpose, and `withImage` or `noImage`.
    ///
    /// Apple's catalogue is not public; the known names are `binaryChoice.engage.withImage` and
    /// `binaryChoice.engage.noImage`.
    private static let invitationTemplate = refuse(
        .invitationTemplate, allowed: "binaryChoice.engage.withImage binaryChoice.engage.noImage"
    ) { value in
        guard let name = value.textBytes, !name.isEmpty else { return false }
        let parts = name.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        return parts.count != 3 || !parts[0].elementsEqual("binaryChoice".utf8) || parts[1].isEmpty
            || !["withImage", "noImage"].contains { parts[2].elementsEqual($0.utf8) }
    }

    private static let invitationReference: Check = { value, inspection in
        guard let text = value.nonEmptyString else { return }
        let length = text.unicodeScalars.count
        if length > maximumReferenceCharacters || text.utf8.contains(UInt8(ascii: "'")) {
            inspection.report(
                .invitationReference, at: value,
                found: length > maximumReferenceCharacters ? "\(length) characters" : "an apostrophe",
                allowed: "at most \(maximumReferenceCharacters) characters, no apostrophe")
        }
    }

    private static func checkLogo(of notification: JSONValue, _ inspection: inout Inspection) {
        guard let template = notification["templateId"]?.textBytes,
            let parameters = notification["parameters"], parameters.kind == .object
        else { return }
        let logo = parameters["brandLogo"]
        if template.suffix(7).elementsEqual("noImage".utf8), let logo {
            inspection.report(.invitationLogo, at: logo, found: "a logo", allowed: "no logo")
        }
        if template.suffix(9).elementsEqual("withImage".utf8), logo?.isEmptyText ?? true {
            inspection.report(
                .invitationLogo, at: parameters, missing: "brandLogo", allowed: "a logo for this template")
        }
    }
}
