import BalloonHTTP
import BusinessMessages

/// The overview of a server without a simulator: its businesses, and empty lists of devices and customers.
struct InspectorOverview: Sendable {
    let registry: HandlerRegistry
    let version: String

    var routes: [InspectorRoute] {
        [
            InspectorRoute(
                .get, "/dev/v1", "Read what the server is",
                answer: .object([
                    "version": .text, "businesses": .list(.object(["slug": .text, "id": .text])),
                    "devices": .list(.text, 0...0),
                ])
            ) { _ in .json(overview) },
            InspectorRoute(
                .get, "/dev/v1/customers", "List the customers of the phone, of which there are none",
                answer: .object(["customers": .list(.anyObject)])
            ) { _ in .json(JSONWriter.object(["customers": [String]()])) },
        ]
    }

    private var overview: [UInt8] {
        JSONWriter.object([
            "version": version,
            "businesses": registry.all.map {
                JSONObject(["slug": $0.slug, "id": $0.business.rawValue, "name": $0.slug])
            },
            // The page shows no phone when there is no device.
            "devices": [String](),
        ])
    }
}
