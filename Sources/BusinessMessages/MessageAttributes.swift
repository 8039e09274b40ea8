public import BalloonJSON

/// The attributes of a message besides its content.
public struct MessageAttributes: Hashable, Sendable {
    /// The capabilities of the customer's device.
    public var capabilities: Capabilities
    /// The customer's language and region, `en_US` or `en_us`.
    public var locale: String?
    /// The purpose named by the link that opened the conversation; sent with the first message.
    public var intent: String?
    /// The department named by the link that opened the conversation; sent with the first message.
    public var group: String?
    /// The version of Apple's protocol, from the header `version`, which only Apple's older documents mention.
    public var version: String?
    /// The customer's system, for example `iPhone OS`, from the header `device-agent`; Apple stopped sending it in 2022.
    public var deviceAgent: String?

    /// Creates attributes, each of which may be absent.
    public init(
        capabilities: Capabilities = [], locale: String? = nil, intent: String? = nil, group: String? = nil,
        version: String? = nil, deviceAgent: String? = nil
    ) {
        self.capabilities = capabilities
        self.locale = locale
        self.intent = intent
        self.group = group
        self.version = version
        self.deviceAgent = deviceAgent
    }

    /// Reads the attributes from the body and the headers.
    ///
    /// The headers `locale`, `intent` and `group` are used only when the body lacks the member. Capabilities,
    /// version and device come from headers only. In a header that is not UTF-8, invalid bytes become U+FFFD.
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
            group: attribute(body["group"], headers.group),
            version: attribute(nil, headers.version), deviceAgent: attribute(nil, headers.deviceAgent))
    }
}

private func attribute(_ member: JSONValue?, _ header: ArraySlice<UInt8>?) -> String? {
    if let string = member?.scalarString { return string }
    guard let header, !header.isEmpty else { return nil }
    return String(decoding: header, as: UTF8.self)
}
