/// The webhook's headers that say something about the message; values without surrounding white space.
public struct EnvelopeHeaders: Sendable {
    /// `id`.
    public var id: ArraySlice<UInt8>?
    /// `source-id`.
    public var sourceID: ArraySlice<UInt8>?
    /// `destination-id`.
    public var destinationID: ArraySlice<UInt8>?
    /// `capability-list`, or its older name `capabilities`.
    public var capabilityList: ArraySlice<UInt8>?
    /// `locale`; Apple puts it into the body.
    public var locale: ArraySlice<UInt8>?
    /// `intent`; Apple puts it into the body.
    public var intent: ArraySlice<UInt8>?
    /// `group`; Apple puts it into the body.
    public var group: ArraySlice<UInt8>?

    /// Makes headers of which each may be absent.
    public init(
        id: ArraySlice<UInt8>? = nil,
        sourceID: ArraySlice<UInt8>? = nil,
        destinationID: ArraySlice<UInt8>? = nil,
        capabilityList: ArraySlice<UInt8>? = nil,
        locale: ArraySlice<UInt8>? = nil,
        intent: ArraySlice<UInt8>? = nil,
        group: ArraySlice<UInt8>? = nil
    ) {
        self.id = id
        self.sourceID = sourceID
        self.destinationID = destinationID
        self.capabilityList = capabilityList
        self.locale = locale
        self.intent = intent
        self.group = group
    }
}
