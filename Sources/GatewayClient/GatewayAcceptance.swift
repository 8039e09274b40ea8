package import BusinessMessages

/// Apple's acceptance of a message; the message must not be sent again.
package struct GatewayAcceptance: Sendable, Equatable {
    /// The status, 200 to 299.
    package let status: Int
    /// A reference that replaces the content for 30 days; present when ``SendOptions/wantsReference`` asked
    /// for it and Apple answered it.
    package var reference: UploadedPayload?
}
