package import BalloonJSON
package import HandlerKit

/// What the handler answers to `initialize`.
///
/// ```json
/// {"protocolVersion": "1", "handler": {"name": "bakery", "version": "2"}, "events": ["text"], "maxInFlight": 4}
/// ```
/// `events` may be `"*"`; without `maxInFlight` the server's limit holds.
package struct Introduction: Hashable, Sendable {
    /// What the handler calls itself.
    package let name: String?
    /// Its version.
    package let version: String?
    /// The kinds that it wants.
    package let kinds: Set<Kind>
    /// How many events it takes at once.
    package let maximumInFlight: Int?

    /// Takes everything.
    package init(name: String?, version: String? = nil, kinds: Set<Kind>, maximumInFlight: Int? = nil) {
        self.name = name
        self.version = version
        self.kinds = kinds
        self.maximumInFlight = maximumInFlight
    }

    /// Reads the result.
    package init(_ result: JSONValue) throws(HandlerProtocolError) {
        guard result["protocolVersion"]?.string == ProtocolVersion.current else { throw .unsupportedVersion }
        name = result["handler"]?["name"]?.string
        version = result["handler"]?["version"]?.string
        kinds = try Self.kinds(result["events"])
        switch result["maxInFlight"] {
        case nil: maximumInFlight = nil
        case .some(let value):
            guard let count = value.int, count > 0 else { throw .malformed("maxInFlight") }
            maximumInFlight = count
        }
    }

    private static func kinds(_ events: JSONValue?) throws(HandlerProtocolError) -> Set<Kind> {
        if events?.string == "*" { return Set(Kind.allCases) }
        guard let events, events.kind == .array else { throw .malformed("events") }
        var kinds: Set<Kind> = []
        for event in events.elements {
            guard let name = event.string, let kind = Kind(rawValue: name) else { throw .unknownKind }
            kinds.insert(kind)
        }
        return kinds
    }

    /// Writes the members.
    package func write(to writer: inout JSONWriter) {
        writer.field("protocolVersion", ProtocolVersion.current)
        writer.key("handler")
        writer.object { writer in
            writer.field("name", name)
            writer.field("version", version)
        }
        writer.key("events")
        writer.array { writer in
            for kind in Kind.allCases where kinds.contains(kind) { writer.string(kind.rawValue) }
        }
        writer.field("maxInFlight", maximumInFlight)
    }
}
