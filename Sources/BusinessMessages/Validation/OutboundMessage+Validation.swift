public import BalloonJSON

extension OutboundMessage {
    /// Finds all problems of a business's message, in the order of the message.
    ///
    /// The members that the server adds (`id`, `v`, `sourceId`, `destinationId`) are required only if
    /// `needsEnvelope`. If `capabilities` are given, content that a device with these capabilities cannot
    /// show is a problem too. If `now` is given, in seconds since 1970, a form's dates are compared with
    /// today.
    public static func problems(
        in message: JSONValue, needsEnvelope: Bool = false, for capabilities: Capabilities? = nil,
        now seconds: Int? = nil
    ) -> [MessageProblem] {
        if message["signIn"] != nil, !needsEnvelope { return signInProblems(in: message, for: capabilities) }
        if message["payment"] != nil, !needsEnvelope { return PaymentRequest.problems(in: message) }
        var inspection = Inspection(now: seconds)
        Checks.message(needsEnvelope: needsEnvelope)(message, &inspection)
        if let capabilities, let needed = message.neededCapability, !capabilities.contains(needed) {
            inspection.report(
                .capability, at: message, found: capabilities.tokens.isEmpty ? "nothing" : "\(capabilities)",
                allowed: "\(needed.rawValue) in capability-list")
        }
        return inspection.problems.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    }

    private static func signInProblems(
        in message: JSONValue, for capabilities: Capabilities?
    ) -> [MessageProblem] {
        var problems = SignInRequest.problems(in: message)
        let needed = Capability.authentication2
        if let capabilities, !capabilities.contains(needed) {
            var inspection = Inspection(author: "Balloon")
            inspection.report(
                .capability, at: message, found: capabilities.tokens.isEmpty ? "nothing" : "\(capabilities)",
                allowed: "\(needed.rawValue) in capability-list")
            problems += inspection.problems
        }
        return problems
    }

    /// Finds all problems of a message in JSON bytes; invalid JSON is reported as a single problem.
    public static func problems(
        inJSON bytes: [UInt8], needsEnvelope: Bool = false, for capabilities: Capabilities? = nil,
        now seconds: Int? = nil
    ) -> [MessageProblem] {
        do {
            let document = try JSONDocument(bytes)
            return problems(
                in: document.root, needsEnvelope: needsEnvelope, for: capabilities, now: seconds)
        } catch {
            let position = error.position(in: bytes)
            return [
                MessageProblem(
                    rule: .json, pointer: "", line: position.line, column: position.column,
                    found: error.reason, allowed: "one JSON value", passage: "RFC 8259")
            ]
        }
    }

    /// Finds all problems of this message; the addresses of sender and receiver are not checked.
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
