import BalloonJSON
import BusinessMessages

/// The content of an interactive message that may be sent by reference because it is the same for every
/// customer.
struct SharedContent: Sendable {
    /// One JSON object, exactly as in the message.
    let interactiveData: [UInt8]
    let bid: String
    /// The title of the bubble, which a reference to the content repeats.
    let title: String?
    private let message: JSONValue

    /// The members of `data` that mark content for one customer and one use, such as a payment or a sign-in.
    private static let personal = ["payment", "authenticate", "notification"]

    /// Reads an encoded message; nil when its content is not interactive, is personal, or is a reference
    /// already.
    init?(_ body: [UInt8]) {
        // Balloon encoded the message, so it is valid JSON.
        guard let message = (try? JSONDocument(body))?.root, message["type"]?.string == "interactive",
            let data = message["interactiveData"], data.kind == .object, message["interactiveDataRef"] == nil,
            !Self.personal.contains(where: { data["data"]?[$0] != nil })
        else { return nil }
        self.message = message
        interactiveData = Array(data.text)
        bid = data["bid"]?.string ?? Interaction.businessExtension
        title = (data["data"]?["receivedMessage"] ?? data["receivedMessage"])?["title"]?.string
    }

    /// The message with a reference instead of its content.
    func message(referringTo reference: [UInt8]) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 1024) { writer in
            for (name, value) in message.members where name != "interactiveData" {
                writer.key(name)
                writer.value(value)
            }
            writer.key("interactiveDataRef")
            writer.raw(reference)
        }
    }
}
