/// The headers of a webhook request that describe its message; the values have no surrounding white space.
public struct EnvelopeHeaders: Sendable {
    /// The header `id`.
    public var id: ArraySlice<UInt8>?
    /// The header `source-id`.
    public var sourceID: ArraySlice<UInt8>?
    /// The header `destination-id`.
    public var destinationID: ArraySlice<UInt8>?
    /// The header `capability-list`, or its older name `capabilities`.
    public var capabilityList: ArraySlice<UInt8>?
    /// The header `locale`; Apple sends the value in the body instead.
    public var locale: ArraySlice<UInt8>?
    /// The header `intent`; Apple sends the value in the body instead.
    public var intent: ArraySlice<UInt8>?
    /// The header `group`; Apple sends the value in the body instead.
    public var group: ArraySlice<UInt8>?
    /// The header `version`, which only Apple's older documents mention.
    public var version: ArraySlice<UInt8>?
    /// The header `device-agent`, for example `iPhone OS`; empty since March 2022.
    public var deviceAgent: ArraySlice<UInt8>?

    /// Creates headers, each of which may be absent.
    public init(
        id: ArraySlice<UInt8>? = nil,
        sourceID: ArraySlice<UInt8>? = nil,
        destinationID: ArraySlice<UInt8>? = nil,
        capabilityList: ArraySlice<UInt8>? = nil,
        locale: ArraySlice<UInt8>? = nil,
        intent: ArraySlice<UInt8>? = nil,
        group: ArraySlice<UInt8>? = nil,
        version: ArraySlice<UInt8>? = nil,
        deviceAgent: ArraySlice<UInt8>? = nil
    ) {
        self.id = id
        self.sourceID = sourceID
        self.destinationID = destinationID
        self.capabilityList = capabilityList
        self.locale = locale
        self.intent = intent
        self.group = group
        self.version = version
        self.deviceAgent = deviceAgent
    }
}
