/// The end of a payload reference.
package enum ReferenceState: Hashable, Sendable {
    /// The message has none.
    case none
    /// The payload is in the message.
    case resolved
    /// The payload could not be had; the message is as it came.
    case failed(reason: String)
}

/// The end of a payload reference.
package enum Resolution: Hashable, Sendable {
    /// The whole message, a JSON object with the payload in place of the reference.
    case resolved(message: [UInt8])
    /// Why there is no payload: a short constant, never the customer's text.
    case failed(reason: String)
}
