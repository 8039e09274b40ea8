import BusinessMessages

/// Interactive content that is the same for every customer, so that it may be sent by reference.
struct SharedContent: Sendable {
    /// One JSON object, exactly as in the message.
    let interactiveData: [UInt8]
    let bid: String
    /// The title of the message bubble, which a message with a reference must repeat.
    let title: String?
    private let message: JSONValue

    /// The members of `data` that show that the content is for a single customer, such as a payment or a
    /// sign-in.
    private static let personal = ["payment", "authenticate", "notification"]

    /// Reads an encoded message.
    ///
    /// Returns nil when the content is not interactive, is for a single customer, or is already a reference.
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

    /// Returns the message with a reference instead of its content.
    func message(referringTo reference: [UInt8]) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 1024) { writer in
            for (name, value) in message.members where name != "interactiveData" {
                writer.field(name, value)
            }
            writer.raw("interactiveDataRef", reference)
        }
    }
}
