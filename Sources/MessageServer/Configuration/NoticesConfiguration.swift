/// The consent of customers to messages that no message of theirs asks for.
///
/// ```json
/// {"text": "You get our messages. Write STOP to end them.", "withdrawnText": "You get no more messages.",
///  "types": [{"id": "orders", "title": "Orders"}], "activeHours": 24, "lapsesAfterDays": 365}
/// ```
/// `text` and `withdrawnText` are required.
package struct NoticesConfiguration: Hashable, Sendable {
    /// One type of messages that a customer can choose.
    package struct MessageType: Hashable, Sendable {
        /// The identifier, as programs see it.
        package let id: String
        /// The title in the list picker.
        package let title: String
    }

    /// The confirmation of a customer's consent, and the title of the list of types.
    package var text: Localized<String>
    /// The confirmation of a withdrawal; JSON: `withdrawnText`.
    package var withdrawnText: Localized<String>
    /// The types of messages; without any, none are asked for.
    package var types: [MessageType] = []
    /// How long after a customer's message programs may write without a purpose; JSON: `activeHours`.
    package var activeTime = Duration.seconds(24 * 3600)
    /// How long a consent is valid, JSON: `lapsesAfterDays`; nil means that it does not lapse.
    package var lapseTime: Duration?
    /// The words of a customer who agrees.
    package var words = CustomerWords(words: Localized(["subscribe"]))
    /// The words of a customer who withdraws.
    package var withdrawalWords = CustomerWords(words: Localized(["unsubscribe", "stop", "spam", "end"]))

    static let maximumTypes = 20
    /// The `purpose` of important news about the customer's account or orders.
    static let accountPurpose = "account"
    /// The `purpose` of offers of no type; the identifier of a type is a purpose too.
    static let marketingPurpose = "marketing"

    /// Creates a configuration with defaults.
    package init(text: String, withdrawnText: String) {
        (self.text, self.withdrawnText) = (Localized(text), Localized(withdrawnText))
    }

    /// Reads `notices`; nil after reporting a problem with a text, without which the object has no use.
    static func read(_ reader: inout ObjectReader) -> NoticesConfiguration? {
        reader.require(
            "text", "withdrawnText", hint: "write what customers are told who write subscribe or unsubscribe")
        let (text, withdrawn) = (reader.customerText("text"), reader.customerText("withdrawnText"))
        var notices = NoticesConfiguration(text: text ?? "", withdrawnText: withdrawn ?? "")
        var known: Set = [accountPurpose, marketingPurpose]
        notices.types =
            reader.objects("types", maximum: maximumTypes) { reader in
                reader.require("id", "title", hint: "write {\"id\": \"orders\", \"title\": \"Orders\"}")
                let id = reader.value("id", SettingFormat.tokenName)
                if let id, !known.insert(id).inserted {
                    reader.problem(
                        "has the id of another type, or is account or marketing",
                        hint: "name each type differently")
                }
                guard let id, let title = reader.value("title", SettingFormat.personText) else { return nil }
                return MessageType(id: id, title: title)
            } ?? []
        reader.set(&notices.activeTime, "activeHours", in: 1...7 * 24, of: .seconds(3600))
        notices.lapseTime = reader.integer("lapsesAfterDays", in: 1...3650).map { .seconds($0 * 86_400) }
        if let words = reader.texts("words") {
            notices.words = CustomerWords(words: Localized(["subscribe"] + words.map(\.text)))
        }
        if let words = reader.texts("withdrawalWords") {
            notices.withdrawalWords = CustomerWords(
                words: Localized(["unsubscribe", "stop", "spam", "end"] + words.map(\.text)))
        }
        return text == nil || withdrawn == nil ? nil : notices
    }
}
