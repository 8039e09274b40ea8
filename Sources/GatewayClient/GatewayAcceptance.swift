package import BusinessMessages

/// The result of a message that Apple has accepted, and that must therefore not be sent again.
package struct GatewayAcceptance: Sendable, Equatable {
    /// The status, 200 to 299.
    package let status: Int
    /// A reference that may be sent instead of the content for 30 days; nil unless
    /// ``SendOptions/wantsReference`` asked for a reference and Apple returned one.
    package var reference: UploadedPayload?
}
