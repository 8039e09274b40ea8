internal import BalloonJSON

extension Checks {
    /// The maximum length of a sign-in request's own parameters in bytes.
    static let maximumSignInParameterBytes = 2048

    /// Checks `{"signIn": {…}}`, which the server turns into an authentication message.
    static let signInMessage = object(
        "SignInRequest", [.required("signIn", signIn)] + completedMessageMembers)

    /// The members of a message that the server turns into an interactive one, beside its request.
    static let completedMessageMembers: [Member] = [
        .optional("fallback", words), .optional("locale", nullable(locale)), .optional("intent", text),
        .optional("group", text), .optional("type", oneOf(["interactive"], .messageType)),
    ]

    /// The members of such a request that every kind has.
    static let completedRequestMembers: [Member] = [
        .required("receivedMessage", bubble), .optional("replyMessage", bubble),
        .optional("images", list(of: image)), .optional("sessionIdentifier", uuid(.sessionIdentifier)),
    ]

    private static let signIn = object(
        "SignInRequest",
        [
            .optional("scope", list(of: words, minimum: 1)),
            .optional("additionalParameters", all(text, signInParameters)),
        ] + completedRequestMembers
            + serversSignInMembers.map { .optional($0, serversMember(.signInMember)) },
        then: checkBubblesAndImages)

    /// Checks the bubbles and the images of a request that the server completes.
    static let checkBubblesAndImages: Check = { request, inspection in
        for name in ["receivedMessage", "replyMessage"] {
            if let bubble = request[name] { checkBubbleMembers(bubble, ofApp: false, &inspection) }
        }
        checkImages(of: request, &inspection)
    }

    /// The members of an authentication message that only the server sets.
    private static let serversSignInMembers = [
        "requestIdentifier", "state", "redirectURI", "responseType", "responseEncryptionKey", "clientSecret",
    ]

    /// Refuses a member that only the server sets.
    static func serversMember(_ rule: MessageRule) -> Check {
        refuse(rule, found: "a value", allowed: "nothing; the server sets this member")
    }

    private static let signInParameters: Check = { value, inspection in
        guard let text = value.nonEmptyString else { return }
        guard text.utf8.count <= maximumSignInParameterBytes else {
            return inspection.report(
                .signInParameters, at: value, found: "\(text.utf8.count) bytes",
                allowed: "at most \(maximumSignInParameterBytes) bytes")
        }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else {
            return inspection.report(.signInParameters, at: value, allowed: "a query such as a=1&b=2")
        }
        for parameter in text.split(separator: "&", omittingEmptySubsequences: false) {
            let name = parameter.prefix { $0 != "=" }
            if SignInRequest.protocolParameters.contains(String(name)) {
                inspection.report(
                    .signInParameters, at: value, found: String(name),
                    allowed: "no parameter that the device or the server sets")
            } else if name.isEmpty || !name.utf8.allSatisfy(\.isUnreserved) {
                // A percent sign in a name could hide the name of a protocol parameter.
                inspection.report(
                    .signInParameters, at: value, found: "a name with other characters",
                    allowed: "names of letters, digits and -._~, as in a=1&b=2")
            }
        }
    }
}
