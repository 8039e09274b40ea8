import BalloonHTTP
import BalloonJSON
import BusinessMessages

/// The overview of a server without a simulator: its businesses, and empty lists of devices and customers.
struct InspectorOverview: Sendable {
    let registry: HandlerRegistry
    let version: String

    var routes: [InspectorRoute] {
        [
            InspectorRoute(.get, "/dev/v1") { _ in .json(overview) }
                .describing(
                    "Read what the server is",
                    answer: JSONSchema.object([
                        "version": JSONSchema.text,
                        "businesses": JSONSchema.list(
                            JSONSchema.object(["slug": JSONSchema.text, "id": JSONSchema.text])
                        ),
                        "devices": JSONSchema.list(JSONSchema.text, 0...0),
                    ])),
            InspectorRoute(.get, "/dev/v1/customers") { _ in
                .json(
                    JSONWriter.object { writer in
                        writer.array("customers") { _ in }
                    })
            }.describing(
                "List the customers of the phone, of which there are none",
                answer: JSONSchema.object(["customers": JSONSchema.list(JSONSchema.anyObject)])
            ),
        ]
    }

    private var overview: [UInt8] {
        JSONWriter.object { writer in
            writer.field("version", version)
            writer.objects("businesses", registry.all) { business, writer in
                writer.field("slug", business.slug)
                writer.field("id", business.business.rawValue)
                writer.field("name", business.slug)
            }
            // The page shows no phone when there is no device.
            writer.array("devices") { _ in }
        }
    }
}
