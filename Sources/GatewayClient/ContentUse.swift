import BalloonWire
package import BusinessMessages

/// The use of a stored content by one business: an empty file `<hash of the content>.<business>` beside the content.
///
/// `<business>` is the first half of the SHA-256 of the business's identifier, 32 hexadecimal digits. The file's modification
/// time is the last time that a message of the business brought the content. A content of an earlier version has no such file; the
/// first one gets the file `<hash of the content>.any` beside it, whose business is not known.
struct ContentUse {
    /// The hash of the content, 64 lower-case hexadecimal digits.
    let sha256: Substring
    /// The business, or `any`.
    let business: Substring

    /// The business of a content of an earlier version.
    static let anyBusiness = "any"

    /// Parses a file's name; nil for another file.
    init?(name: String) {
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 64, !parts[1].isEmpty else { return nil }
        (sha256, business) = (parts[0], parts[1])
    }

    /// The file's name.
    var name: String { "\(sha256).\(business)" }

    /// The business's part of a file's name.
    static func name(of business: BusinessID) -> String {
        Hex.encode(SHA256.hash(business.rawValue.utf8).prefix(16))
    }
}

/// How long attachments are kept: a period for all businesses, and other periods for some of them.
package struct AttachmentPeriods: Sendable {
    /// The period of all other businesses, and of a content without a use; nil for ever.
    let general: Duration?
    private let special: [Substring: Duration]

    /// Creates periods; `general` is nil to keep attachments for ever.
    package init(_ general: Duration?, daysByBusiness: [BusinessID: Int] = [:]) {
        self.general = general
        special = Dictionary(
            uniqueKeysWithValues: daysByBusiness.map { business, days in
                (ContentUse.name(of: business)[...], .seconds(86_400 * days))
            })
    }

    /// The period of a business in the name of a ``ContentUse``; nil for ever.
    func period(of business: Substring) -> Duration? { special[business] ?? general }

    /// Whether no attachment expires.
    package var keepAll: Bool { general == nil && special.isEmpty }
}
