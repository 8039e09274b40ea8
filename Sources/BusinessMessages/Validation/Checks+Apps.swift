internal import BalloonJSON

extension Checks {
    /// The maximum length of an app's URL in bytes.
    static let maximumAppURLBytes = 64 << 10
    /// The icon of an app must have fewer bytes than this.
    static let appIconLimitBytes = 15_000

    static let app: [Member] =
        common.filter { $0.name != "receivedMessage" } + [
            .required("receivedMessage", bubble), .required("URL", appURL),
            .optional("appId", looseIdentifier), .optional("appName", text),
            .optional("appIcon", all(base64, appIcon)), .optional("useLiveLayout", boolean),
            .optional("data", noData),
        ]

    private static let noData: Check = { value, inspection in
        inspection.report(.appData, at: value, allowed: "no data; Apple refuses it for apps")
    }

    static let appURL: Check = { value, inspection in
        words(value, &inspection)
        guard let bytes = value.string?.utf8.count, bytes > maximumAppURLBytes else { return }
        inspection.report(
            .appURL, at: value, found: "\(bytes) bytes", allowed: "at most \(maximumAppURLBytes) bytes")
    }

    private static let appIcon: Check = { value, inspection in
        guard let bytes = value.base64Bytes?.count, bytes >= appIconLimitBytes else { return }
        inspection.report(
            .appIconBytes, at: value, found: "\(bytes) bytes",
            allowed: "fewer than \(appIconLimitBytes) bytes")
    }

    static func checkApp(_ value: JSONValue, _ inspection: inout Inspection) {
        for name in ["appId", "appName", "appIcon"] where value[name] == nil {
            inspection.report(
                .appDescription, at: value, missing: name, allowed: "\(name), for devices without the app")
        }
        for name in ["receivedMessage", "replyMessage"] {
            if let bubble = value[name] { checkBubbleMembers(bubble, ofApp: true, &inspection) }
        }
    }

    // Invitations.

    static let notification = object(
        "invitations",
        [
            .required("templateId", words), .required("referenceId", words), .required("locale", words),
            .required(
                "parameters",
                object("invitations", [.required("brandName", words), .optional("brandLogo", text)])),
        ],
        then: { notification, inspection in
            guard notification["templateId"]?.string?.hasSuffix("noImage") == true,
                let logo = notification["parameters"]?["brandLogo"]
            else { return }
            inspection.report(.invitationLogo, at: logo, found: "a logo", allowed: "no logo")
        })
}
