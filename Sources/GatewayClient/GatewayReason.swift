/// The reason that Apple states in the body of a refusal: `404 Not Found : No device registrations for user`.
///
/// Only the first line of the body is kept, at most 200 printable bytes; empty when the body is empty.
package struct GatewayReason: Sendable, Equatable, CustomStringConvertible {
    /// The first line, at most 200 bytes, with spaces in place of unprintable characters.
    package let description: String

    private static let maximumBytes = 200

    /// Uses the first line of `body`; replaces each text of `hiding` with `…`, because Apple may repeat a value
    /// that must not be logged.
    init(_ body: [UInt8], hiding: [String] = []) {
        let line = body.prefix(1024).prefix { $0 != 0x0A && $0 != 0x0D }
        var text = String(decoding: line, as: UTF8.self)
        for secret in hiding where !secret.isEmpty { text = text.replacing(secret, with: "…") }
        var bytes = 0
        description = String(
            text.prefix { character in
                bytes += character.utf8.count
                return bytes <= Self.maximumBytes
            }.map { $0.unicodeScalars.allSatisfy(Self.isPrintable) ? $0 : " " })
    }

    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned:
            false
        default: true
        }
    }
}
