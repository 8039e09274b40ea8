package import HandlerKit

/// The server's first message: the parameters of `initialize`.
///
/// ```json
/// {"protocolVersions": ["1"], "host": {"name": "balloon"}, "business": {"id": "…", "slug": "demo"},
///  "config": {}, "limits": {"maxLineBytes": 1048576, "maxInFlight": 16, "eventTimeoutMs": 30000}}
/// ```
package struct Initialization: Sendable {
    /// The business that the handler answers for.
    package let business: BusinessID
    /// The business's name in commands and logs.
    package let slug: String
    /// The object `config` of the business's file, which the handler defines itself.
    package let configuration: JSONValue?
    /// The maximum number of concurrent events.
    package let maximumInFlight: Int
    /// The time limit of one event.
    package let deadline: Duration

    /// Creates the parameters.
    package init(
        business: BusinessID, slug: String, configuration: JSONValue?, maximumInFlight: Int,
        deadline: Duration
    ) {
        self.business = business
        self.slug = slug
        self.configuration = configuration
        self.maximumInFlight = maximumInFlight
        self.deadline = deadline
    }

    /// Parses the `params` of `initialize`.
    package init(_ params: JSONValue) throws(HandlerProtocolError) {
        let versions = params["protocolVersions"]
        guard let versions, versions.kind == .array else { throw .malformed("protocolVersions") }
        guard versions.elements.contains(where: { $0.string == ProtocolVersion.current }) else {
            throw .unsupportedVersion
        }
        guard let id = params["business"]?["id"]?.string else { throw .malformed("business") }
        business = BusinessID(id)
        slug = params["business"]?["slug"]?.string ?? ""
        configuration = params["config"]
        maximumInFlight = params["limits"]?["maxInFlight"]?.int ?? 1
        deadline = .milliseconds(
            min(max(0, params["limits"]?["eventTimeoutMs"]?.int ?? 30000), 86_400_000))
    }

    /// Writes the members of the `params` of `initialize`.
    package func write(to writer: inout JSONWriter) {
        writer.fields([
            "protocolVersions": [ProtocolVersion.current], "host": JSONObject(["name": "balloon"]),
            "business": JSONObject(["id": business.rawValue, "slug": slug]),
            "config": configuration ?? JSONObject([:]),
            "limits": JSONObject([
                "maxLineBytes": ProtocolVersion.maximumLineBytes, "maxInFlight": maximumInFlight,
                "eventTimeoutMs": deadline.milliseconds,
            ]),
        ])
    }
}
