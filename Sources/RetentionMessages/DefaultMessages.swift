public import BalloonJSON

/// The default messages of an app: for each product and locale, the message that the App Store shows when it
/// gets no answer.
///
/// `{"com.example.monthly": {"en-US": "stay", "de-DE": "bleib"}}`; the values are names of messages.
public struct DefaultMessages: Hashable, Sendable {
    /// A product and a locale.
    public struct Key: Hashable, Sendable {
        /// The product.
        public let product: ProductID
        /// The locale.
        public let locale: StoreLocale

        /// Creates a key.
        public init(_ product: ProductID, _ locale: StoreLocale) {
            self.product = product
            self.locale = locale
        }
    }

    /// The names of the messages.
    public var messages: [Key: String]

    /// Creates default messages.
    public init(_ messages: [Key: String] = [:]) { self.messages = messages }

    /// The keys, sorted by product and then by locale.
    public var keys: [Key] {
        messages.keys.sorted { ($0.product.text, $0.locale.code) < ($1.product.text, $1.locale.code) }
    }

    /// Reads a file of default messages; returns nil and all problems when the file has a problem.
    public static func read(_ value: JSONValue) -> (defaults: DefaultMessages?, problems: [RetentionProblem])
    {
        var reader = RetentionReader()
        var defaults = DefaultMessages()
        if value.kind != .object {
            reader.report(.form, at: value, found: "no object", allowed: "an object")
        }
        for (productName, locales) in value.members {
            let product = ProductID(productName)
            if product == nil {
                reader.report(
                    .product, at: locales, found: "other characters", allowed: "letters, digits, . - and _")
            }
            if locales.kind != .object {
                reader.report(.form, at: locales, found: "no object", allowed: "an object of locales")
            }
            for (localeName, name) in locales.members {
                let locale = StoreLocale(localeName)
                if locale == nil {
                    reader.report(
                        .locale, at: name, found: "another code", allowed: "a short code such as en-US")
                }
                guard let text = name.string, !text.isEmpty else {
                    reader.report(.form, at: name, found: "no text", allowed: "the name of a message")
                    continue
                }
                guard let product, let locale else { continue }
                if defaults.messages.updateValue(text, forKey: Key(product, locale)) != nil {
                    reader.report(.unknown, at: name, found: "the locale twice", allowed: "one of them")
                }
            }
        }
        return (reader.problems.isEmpty ? defaults : nil, reader.problems)
    }
}
