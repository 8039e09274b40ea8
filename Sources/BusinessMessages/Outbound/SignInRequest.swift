public import BalloonJSON

/// A request to sign in, without the parts that the server adds when it sends the message.
///
/// ```json
/// {"signIn": {"scope": ["openid", "email"], "additionalParameters": "prompt=login",
///             "receivedMessage": {"title": "Sign in"}, "replyMessage": {"title": "Signed in"}},
///  "fallback": "Please sign in at example.com."}
/// ```
/// Only `receivedMessage` is required. The server makes `requestIdentifier`, `state` and `redirectURI`, and
/// later delivers a verified identity. A handler that does all this itself uses an ``AuthenticationRequest``
/// instead.
public struct SignInRequest: Hashable, Sendable {
    /// The bubble before the answer.
    public var received: OutboundBubble
    /// The bubble after the answer; nil means that the device creates the bubble.
    public var reply: OutboundBubble?
    /// The scopes that replace those of the business's configuration; empty for the configured ones.
    public var scope: [String]
    /// Parameters for the provider's address, such as `prompt=login&ui_locales=de`; at most 2,048 bytes.
    ///
    /// Parameters that belong to the protocol are refused: ``protocolParameters``.
    public var additionalParameters: String?
    /// The images that the bubbles refer to.
    public var images: [OutboundImage]
    /// The identifier of the session, a UUID that all answers repeat; nil means that Apple creates the
    /// identifier.
    public var sessionIdentifier: String?
    /// Whether the message is of version 1, for a device without ``Capability/authentication2``.
    ///
    /// Only the server sets this value, for a business that can decrypt the device's token.
    var isClassic = false

    /// Creates a request.
    public init(
        _ received: OutboundBubble, reply: OutboundBubble? = nil, scope: [String] = [],
        additionalParameters: String? = nil, images: [OutboundImage] = [], sessionIdentifier: String? = nil
    ) {
        self.received = received
        self.reply = reply
        self.scope = scope
        self.additionalParameters = additionalParameters
        self.images = images
        self.sessionIdentifier = sessionIdentifier
    }

    /// The placeholder for a part that the server adds when it sends the message.
    package static let placeholder = "[added when sent]"

    /// The parameters of an authorization request that only the device and the server set.
    public static let protocolParameters: Set = [
        "client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
        "code_challenge", "code_challenge_method", "request", "request_uri",
    ]

    /// Finds the problems of `{"signIn": {…}}`: at most 100 in the order of the text, errors before warnings.
    public static func problems(in message: JSONValue) -> [MessageProblem] {
        var inspection = Inspection(author: author)
        inspection.check(message, Checks.signInMessage)
        return inspection.problems
    }

    /// The author of the documentation of this format.
    static let author = "Balloon"

    /// Reads the request of `{"signIn": {…}}`.
    ///
    /// Throws when ``problems(in:)`` finds an error.
    public init(json message: JSONValue) throws(InvalidMessage) {
        let problems = Self.problems(in: message)
        // Without an error the member `signIn` and its bubble exist.
        guard !problems.hasErrors, let request = message["signIn"],
            let received = request["receivedMessage"].map(OutboundBubble.init)
        else { throw InvalidMessage(problems: problems) }
        self.init(
            received, reply: request["replyMessage"].map(OutboundBubble.init),
            scope: request["scope"]?.elements.compactMap(\.string) ?? [],
            additionalParameters: request["additionalParameters"]?.nonEmptyString,
            images: request["images"]?.elements.compactMap(OutboundImage.init) ?? [],
            sessionIdentifier: request["sessionIdentifier"]?.string)
    }

    /// The value of the member `signIn`.
    var object: JSONObject {
        [
            "scope": scope.unlessEmpty, "additionalParameters": additionalParameters,
            "receivedMessage": received, "replyMessage": reply, "images": images.unlessEmpty,
            "sessionIdentifier": sessionIdentifier,
        ]
    }

    /// Writes the authentication message, with placeholders for the parts that the server adds when it sends
    /// the message.
    ///
    /// Version 1 has no member for ``additionalParameters``.
    func writeMessage(to writer: inout JSONWriter, id: MessageID) {
        let placeholder = Self.placeholder
        let request = AuthenticationRequest(
            scope: scope.isEmpty ? [placeholder] : scope, state: placeholder,
            isClassic
                ? .one(responseEncryptionKey: placeholder, clientSecret: placeholder)
                : .two(redirectURI: placeholder, additionalParameters: additionalParameters),
            presentation: Presentation(
                received, reply: reply, images: images, sessionIdentifier: sessionIdentifier))
        request.write(to: &writer, id: id)
    }

    /// The request as `{"signIn": {…}}`, in the format that ``init(json:)`` reads.
    public var json: [UInt8] { JSONWriter.object(["signIn": object]) }
}
