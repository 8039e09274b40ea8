package import HandlerKit

/// The handler's answer to `initialize`.
///
/// ```json
/// {"protocolVersion": "1", "handler": {"name": "bakery", "version": "2"}, "events": ["text"], "payments": ["paymentGateway"],
///  "maxInFlight": 4}
/// ```
/// `events` lists kinds, `replyFailed` and `retention`, or is `"*"` for every kind. Without `maxInFlight` the
/// server's limit applies. `payments` lists payment callbacks; without it the handler answers none.
package struct Introduction: Hashable, Sendable {
    /// The name that the handler gives itself.
    package let name: String?
    /// The handler's version.
    package let version: String?
    /// The subscriptions.
    package let events: Set<Subscription>
    /// Whether the handler answers the App Store's questions before a cancellation.
    package let answersRetention: Bool
    /// The callbacks of payments that the handler answers.
    package let payments: Set<PaymentCallback.Kind>
    /// The maximum number of concurrent events; nil when the server's limit applies.
    package let maximumInFlight: Int?

    /// Creates an introduction.
    package init(
        name: String?, version: String? = nil, events: Set<Subscription>, answersRetention: Bool = false,
        payments: Set<PaymentCallback.Kind> = [], maximumInFlight: Int? = nil
    ) {
        self.payments = payments
        self.name = name
        self.version = version
        self.events = events
        self.answersRetention = answersRetention
        self.maximumInFlight = maximumInFlight
    }

    /// Parses the `result` of `initialize`.
    package init(_ result: JSONValue) throws(HandlerProtocolError) {
        guard result["protocolVersion"]?.equals(ProtocolVersion.current) ?? false else {
            throw .unsupportedVersion
        }
        name = result["handler"]?["name"]?.string
        version = result["handler"]?["version"]?.string
        events = try Self.subscriptions(result["events"])
        answersRetention = result["events"]?.elements.contains { $0.equals(Method.retention) } ?? false
        payments = try Self.payments(result["payments"])
        switch result["maxInFlight"] {
        case nil: maximumInFlight = nil
        case .some(let value):
            guard let count = value.int, count > 0 else { throw .malformed("maxInFlight") }
            maximumInFlight = count
        }
    }

    private static func subscriptions(_ events: JSONValue?) throws(HandlerProtocolError) -> Set<Subscription>
    {
        if events?.equals("*") ?? false { return Subscription.everyKind }
        guard let events, events.kind == .array else { throw .malformed("events") }
        var subscriptions: Set<Subscription> = []
        for event in events.elements where !event.equals(Method.retention) {
            guard let subscription = event.string.flatMap(Subscription.init(name:)) else {
                throw .unknownKind(event.string ?? event.shortened)
            }
            subscriptions.insert(subscription)
        }
        return subscriptions
    }

    private static func payments(
        _ list: JSONValue?
    ) throws(HandlerProtocolError) -> Set<PaymentCallback.Kind> {
        guard let list, !list.isNull else { return [] }
        let kinds = list.elements.map { $0.string.flatMap(PaymentCallback.Kind.init) }
        guard list.kind == .array, !kinds.contains(nil) else { throw .malformed("payments") }
        return Set(kinds.compactMap(\.self))
    }

    /// Writes the members of the `result` of `initialize`.
    package func write(to writer: inout JSONWriter) {
        let kinds = PaymentCallback.Kind.allCases.filter(payments.contains).map(\.rawValue)
        writer.fields([
            "protocolVersion": ProtocolVersion.current,
            "handler": JSONObject(["name": name, "version": version]),
            "events": Subscription.all.filter(events.contains).map(\.name)
                + (answersRetention ? [Method.retention] : []),
            "payments": kinds.isEmpty ? nil : kinds, "maxInFlight": maximumInFlight,
        ])
    }
}
