package import BusinessMessages

/// Apple has taken a message; it must not be sent again.
package struct GatewayAcceptance: Sendable, Equatable {
    /// The status, 200 to 299.
    package let status: Int
    /// What the content can be sent with again for 30 days, where ``SendOptions/wantsReference`` asked and Apple answered.
    package var reference: UploadedPayload?
}
