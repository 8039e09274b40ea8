/// A rule of the Retention Messaging API; each case describes content that breaks the rule.
public enum RetentionRule: String, Sendable, Hashable, CaseIterable {
    /// A member has a type or a format that the API does not allow.
    case form
    /// A required member is missing.
    case missing
    /// A member is unknown, or is present twice.
    case unknown
    /// The header has more than 66 characters.
    case headerLength
    /// The body has more than 144 characters.
    case bodyLength
    /// An alternative text has more than 150 characters.
    case alternativeTextLength
    /// A bullet point's text has more than 66 characters.
    case bulletTextLength
    /// A message has more than five bullet points.
    case bulletPointCount
    /// The header is placed above an image, but the message has no image.
    case headerAboveImage
    /// A message with an offer or another product has an image or bullet points.
    case plainMessage
    /// An image is not a PNG file.
    case imageFormat
    /// An image has transparent pixels.
    case imageTransparency
    /// An image does not have the size that the API requires.
    case imageSize
    /// A rule or a message names an image or a message that does not exist.
    case reference
    /// A locale is not a locale short code of the App Store, such as `en-US`.
    case locale
    /// A product identifier has characters that the App Store does not allow.
    case product
    /// A rule answers for products and locales without a default message, about which the App Store never
    /// asks.
    case defaultMessage
    /// The real-time URL is not https or has more than 256 characters.
    case realtimeURL

    /// The error code that the App Store returns for the same fault; nil when it has no such code.
    public var errorCode: Int? {
        switch self {
        case .headerLength: 4_000_162
        case .bodyLength: 4_000_163
        case .alternativeTextLength: 4_000_175
        case .bulletTextLength: 4_000_219
        case .bulletPointCount: 4_000_218
        case .headerAboveImage: 4_000_224
        case .imageFormat, .imageTransparency: 4_000_161
        case .imageSize: 4_000_216
        case .locale: 4_000_164
        case .product: 4_000_023
        case .realtimeURL: 4_000_215
        case .form, .missing, .unknown: 4_000_000
        case .plainMessage, .reference, .defaultMessage: nil
        }
    }

    /// The passage of Apple's documentation that contains the rule.
    public var passage: String {
        switch self {
        case .form, .missing, .unknown, .headerLength, .bodyLength, .alternativeTextLength, .bulletTextLength,
            .bulletPointCount, .headerAboveImage:
            "Retention Messaging API, Upload Message"
        case .imageFormat, .imageTransparency, .imageSize: "Retention Messaging API, Upload Image"
        case .plainMessage: "Retention Messaging API, Get Retention Message"
        case .reference: "Retention Messaging API, UploadMessageImage"
        case .locale, .product, .defaultMessage: "Retention Messaging API, Configure Default Message"
        case .realtimeURL: "Retention Messaging API, Configure Realtime URL"
        }
    }
}

/// A problem in a message, an image or a setting for the App Store.
public struct RetentionProblem: Hashable, Sendable, CustomStringConvertible {
    /// The consequence of a broken rule.
    public enum Severity: String, Sendable {
        /// The App Store refuses the content, or ignores the answer.
        case error
        /// The App Store refuses the content only if it counts UTF-16 units or bytes; Apple does not document
        /// the unit.
        case warning
    }

    /// The broken rule.
    public let rule: RetentionRule
    /// The consequence.
    public let severity: Severity
    /// The place as a JSON Pointer (RFC 6901); empty for a file as a whole.
    public let pointer: String
    /// The line of the place, from 1.
    public let line: Int
    /// The column of the place in Unicode scalars, from 1.
    public let column: Int
    /// The found value, shortened.
    public let found: String
    /// The allowed values.
    public let allowed: String

    /// Creates a problem.
    public init(
        rule: RetentionRule, severity: Severity, pointer: String, line: Int, column: Int, found: String,
        allowed: String
    ) {
        self.rule = rule
        self.severity = severity
        self.pointer = pointer
        self.line = line
        self.column = column
        self.found = found
        self.allowed = allowed
    }

    /// One line for people: the place, the found value, the allowed values and the passage.
    public var description: String {
        "\(severity): \(pointer.isEmpty ? "/" : pointer): \(rule.rawValue): found \(found), allowed \(allowed)"
            + " (\(rule.passage))"
    }
}
