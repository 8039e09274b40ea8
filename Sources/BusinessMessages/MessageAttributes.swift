public import BalloonJSON

/// What comes with a message besides its content.
public struct MessageAttributes: Hashable, Sendable {
    /// What the customer's device can show.
    public var capabilities: Capabilities
    /// The customer's language and region, `en_US` or `en_us`.
    public var locale: String?
    /// The purpose that the conversation's link named; sent with its first message.
    public var intent: String?
    /// The department that the conversation's link named; sent with its first message.
    public var group: String?

    /// Makes attributes of which each may be absent.
    public init(
        capabilities: Capabilities = [], locale: String? = nil, intent: String? = nil, group: String? = nil
    ) {
        self.capabilities = capabilities
        self.locale = locale
        self.intent = intent
        self.group = group
    }

    /// Reads the body's `locale`, `intent` and `group`, each from its header where the body lacks it.
    ///
    /// Capabilities are only ever a header. A header that is not UTF-8 is read with U+FFFD in its place.
    public static func read(
        document: JSONDocument, headers: EnvelopeHeaders = EnvelopeHeaders()
    ) -> MessageAttributes {
        let body = document.root
        return MessageAttributes(
            capabilities: headers.capabilityList.map {
                Capabilities(parsing: String(decoding: $0, as: UTF8.self))
            } ?? [],
            locale: attribute(body["locale"], headers.locale),
            intent: attribute(body["intent"], headers.intent),
            group: attribute(body["group"], headers.group))
    }
}

private func attribute(_ member: JSONValue?, _ header: ArraySlice<UInt8>?) -> String? {
    if let string = member?.scalarString { return string }
    guard let header, !header.isEmpty else { return nil }
    return String(decoding: header, as: UTF8.self)
}
