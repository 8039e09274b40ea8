internal import BalloonJSON

/// A question that the customer answers with one tap.
///
/// Send a text that explains the question first. Devices without ``Capability/quickReply`` cannot show a quick reply.
/// Apple MSP API, "Quick Reply Message".
public struct QuickReplyRequest: Hashable, Sendable {
    /// One of the choices.
    public struct Item: Hashable, Sendable {
        /// The identifier that the answer contains; unique in the question.
        public let identifier: String
        /// The text shown to the customer, one line.
        public let title: String

        /// Creates a choice.
        public init(_ identifier: String, title: String) {
            self.identifier = identifier
            self.title = title
        }
    }

    /// The number of items that Apple accepts.
    public static let itemCounts = 2...5

    /// The text that the notification shows, and that the transcript shows after the customer's choice.
    public let summary: String
    /// The choices, in display order.
    public let items: [Item]
    /// The `requestIdentifier` that the answer repeats; the default is the identifier of the message.
    public let requestIdentifier: String?

    /// Creates a question; throws when Apple would refuse it.
    public init(summary: String, items: [Item], requestIdentifier: String? = nil) throws(CompositionError) {
        guard Self.itemCounts.contains(items.count) else { throw .itemCount(items.count) }
        guard !summary.isEmpty else { throw .emptySummary }
        var identifiers: Set<String> = []
        for (position, item) in items.enumerated() {
            guard !item.identifier.isEmpty else { throw .emptyIdentifier(item: position) }
            guard !item.title.isEmpty else { throw .emptyTitle(item: position) }
            guard identifiers.insert(item.identifier).inserted else {
                throw .repeatedIdentifier(item: position)
            }
        }
        self.summary = summary
        self.items = items
        self.requestIdentifier = requestIdentifier
    }

    /// Writes the member `interactiveData`.
    func write(to writer: inout JSONWriter, id: MessageID) {
        writer.field(
            "interactiveData",
            JSONObject([
                "bid": Interaction.businessExtension,
                "data": JSONObject([
                    "version": "1.0", "requestIdentifier": requestIdentifier ?? id.rawValue,
                    "quick-reply": JSONObject([
                        "summaryText": summary,
                        "items": items.map { JSONObject(["identifier": $0.identifier, "title": $0.title]) },
                    ]),
                ]),
            ]))
    }
}
