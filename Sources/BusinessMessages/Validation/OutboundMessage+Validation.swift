public import BalloonJSON

extension OutboundMessage {
    /// Finds the problems of a business's message: at most 100 in the order of the message, errors before
    /// warnings.
    ///
    /// The list has an error whenever one was found. The members that the server adds (`id`, `v`, `sourceId`,
    /// `destinationId`) are required only if `needsEnvelope`. If `capabilities` are given, content that a device
    /// with these capabilities cannot show is a problem too. If `now` is given, in seconds since 1970, a form's
    /// dates are compared with today. A message with too many parts has the single problem
    /// ``MessageRule/fullyChecked``.
    public static func problems(
        in message: JSONValue, needsEnvelope: Bool = false, for capabilities: Capabilities? = nil,
        now seconds: Int? = nil
    ) -> [MessageProblem] {
        if message["payment"] != nil, !needsEnvelope, message["signIn"] == nil {
            return PaymentRequest.problems(in: message)
        }
        let isSignIn = message["signIn"] != nil && !needsEnvelope
        let check = isSignIn ? Checks.signInMessage : Checks.message(needsEnvelope: needsEnvelope)
        var inspection =
            isSignIn ? Inspection(author: SignInRequest.author, now: seconds) : Inspection(now: seconds)
        inspection.check(message) { message, inspection in
            check(message, &inspection)
            guard let capabilities, let needed = isSignIn ? .authentication2 : message.neededCapability,
                !capabilities.contains(needed)
            else { return }
            inspection.report(
                .capability, at: message, found: capabilities.tokens.isEmpty ? "nothing" : "\(capabilities)",
                allowed: "\(needed.rawValue) in capability-list")
        }
        return inspection.problems
    }

    /// Finds the problems of a message in JSON bytes, as ``problems(in:needsEnvelope:for:now:)`` does.
    ///
    /// Invalid JSON is reported as a single problem.
    public static func problems(
        inJSON bytes: [UInt8], needsEnvelope: Bool = false, for capabilities: Capabilities? = nil,
        now seconds: Int? = nil
    ) -> [MessageProblem] {
        do {
            let document = try JSONDocument(bytes, limits: MessageBounds.standard.json)
            return problems(in: document.root, needsEnvelope: needsEnvelope, for: capabilities, now: seconds)
        } catch {
            let position = error.position(in: bytes)
            let isLimit =
                switch error {
                case .tooDeep, .tooLong, .tooManyNodes: true
                case .unexpectedEnd, .unexpectedByte, .trailingBytes, .byteOrderMark, .invalidNumber,
                    .invalidEscape, .controlCharacter, .invalidUTF8:
                    false
                }
            let rule = isLimit ? MessageRule.fullyChecked : .json
            return [
                MessageProblem(
                    rule: rule, pointer: "", line: position.line, column: position.column,
                    found: isLimit ? error.reason + ", not fully checked" : error.reason,
                    allowed: isLimit ? "a smaller message" : "one JSON value", passage: rule.passage ?? "")
            ]
        }
    }

    /// Finds the problems of this message, at most 100; the addresses of sender and receiver are not checked.
    public func problems(for capabilities: Capabilities? = nil) -> [MessageProblem] {
        let bytes = encode(
            id: MessageID("00000000-0000-4000-8000-000000000000"), from: BusinessID("business"),
            to: CustomerID(isNotification ? "tel:+0" : "urn:mbid:customer"))
        return Self.problems(inJSON: bytes, needsEnvelope: true, for: capabilities)
    }

    /// Refuses a message that the customer's device cannot show; the error names the missing capability.
    ///
    /// A business must not send content without its capability in `capability-list` (Apple MSP API, "HTTP
    /// Headers").
    public func require(_ capabilities: Capabilities) throws(UnsupportedMessage) {
        let bytes = encode(id: MessageID(""), from: BusinessID(""), to: CustomerID(""))
        // A JSON writer encoded the message, so parsing does not fail.
        guard let message = try? JSONDocument(bytes).root else { return }
        try UnsupportedMessage.check(message, for: capabilities)
    }
}
