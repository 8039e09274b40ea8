/// The reason of a refusal, if the body of Apple's answer has one that is known:
/// `404 Not Found : No device registrations for user`.
///
/// An answer may repeat any part of the message, so no other word of it reaches a log line, a dead letter or a
/// metric.
package struct GatewayReason: Sendable, Equatable, CustomStringConvertible {
    /// The known reason; empty for another one.
    package let description: String

    /// The reasons that Apple's gateway was seen to give.
    private static let known = [
        "No device registrations for user", "Third party interactive data disallows use of 'data'",
        "Merchant Id not found in business registration", "Apple Pay session payment gateway url mismatch",
        "Apple Pay session merchant identifier mismatch",
    ]

    /// Finds a known reason in the first line of `body`.
    package init(_ body: [UInt8]) {
        let line = String(
            decoding: body.prefix(1024).prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
        description = Self.known.first { line.contains($0) } ?? ""
    }
}
