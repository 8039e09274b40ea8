package import BusinessMessages

/// Apple's acceptance of a message; the message must not be sent again.
package struct GatewayAcceptance: Sendable, Equatable {
    /// The status, 200 to 299.
    package let status: Int
    /// A reference that may be sent instead of the content for 30 days; nil unless
    /// ``SendOptions/wantsReference`` asked for a reference and Apple returned one.
    package var reference: UploadedPayload?
}
