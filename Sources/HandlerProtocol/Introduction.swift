package import BalloonJSON
package import HandlerKit

/// The handler's answer to `initialize`.
///
/// ```json
/// {"protocolVersion": "1", "handler": {"name": "bakery", "version": "2"}, "events": ["text"], "maxInFlight": 4}
/// ```
/// `events` lists kinds and `replyFailed`, or is `"*"` for every kind; without `maxInFlight` the server's limit
/// applies.
package struct Introduction: Hashable, Sendable {
    /// The handler's own name.
    package let name: String?
    /// The handler's version.
    package let version: String?
    /// The subscriptions.
    package let events: Set<Subscription>
    /// The maximum number of concurrent events.
    package let maximumInFlight: Int?

    /// Creates an introduction.
    package init(
        name: String?, version: String? = nil, events: Set<Subscription>, maximumInFlight: Int? = nil
    ) {
        self.name = name
        self.version = version
        self.events = events
        self.maximumInFlight = maximumInFlight
    }

    /// Parses the `result` of `initialize`.
    package init(_ result: JSONValue) throws(HandlerProtocolError) {
        guard result["protocolVersion"]?.string == ProtocolVersion.current else { throw .unsupportedVersion }
        name = result["handler"]?["name"]?.string
        version = result["handler"]?["version"]?.string
        events = try Self.subscriptions(result["events"])
        switch result["maxInFlight"] {
        case nil: maximumInFlight = nil
        case .some(let value):
            guard let count = value.int, count > 0 else { throw .malformed("maxInFlight") }
            maximumInFlight = count
        }
    }

    private static func subscriptions(_ events: JSONValue?) throws(HandlerProtocolError) -> Set<Subscription>
    {
        if events?.string == "*" { return Subscription.everyKind }
        guard let events, events.kind == .array else { throw .malformed("events") }
        var subscriptions: Set<Subscription> = []
        for event in events.elements {
            guard let subscription = event.string.flatMap(Subscription.init(name:)) else {
                throw .unknownKind(event.string ?? event.shortened)
            }
            subscriptions.insert(subscription)
        }
        return subscriptions
    }

    /// Writes the members of the `result` of `initialize`.
    package func write(to writer: inout JSONWriter) {
        writer.field("protocolVersion", ProtocolVersion.current)
        writer.key("handler")
        writer.object { writer in
            writer.field("name", name)
            writer.field("version", version)
        }
        writer.key("events")
        writer.array { writer in
            for event in Subscription.all where events.contains(event) { writer.string(event.name) }
        }
        writer.field("maxInFlight", maximumInFlight)
    }
}
