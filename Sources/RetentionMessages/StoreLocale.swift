internal import BalloonJSON

/// A locale of the App Store by its short code, such as `en-US` or `zh-Hans`, compared case-sensitively.
public struct StoreLocale: Hashable, Sendable, CustomStringConvertible {
    /// The short code; another text of an unfamiliar locale.
    public let code: String
    /// Whether the code has the form of the App Store's short codes; no rule names an unfamiliar locale.
    public let isFamiliar: Bool

    /// Reads a short code: a language of two or three lower-case letters, then up to two parts, each after a
    /// hyphen.
    ///
    /// Returns nil for every other text, such as `en_US` and `EN-us`, which the App Store does not know.
    public init?(_ code: String) {
        let parts = code.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count), (2...3).contains(parts[0].count),
            parts[0].allSatisfy(isSmallLetter),
            parts.dropFirst().allSatisfy({ (2...4).contains($0.count) && isRegionOrScript($0) })
        else { return nil }
        self.code = code
        isFamiliar = true
    }

    /// Reads the locale of a question, in which the App Store may use a code that it does not document.
    init(inQuestion code: String) {
        self = StoreLocale(code) ?? StoreLocale(unfamiliar: code)
    }

    private init(unfamiliar code: String) {
        self.code = code
        isFamiliar = false
    }

    /// Whether a rule for this locale applies to `other`, which is equal or adds parts: `en` includes
    /// `en-US`, but no unfamiliar locale.
    public func includes(_ other: StoreLocale) -> Bool {
        other.isFamiliar && (other.code == code || other.code.hasPrefix(code + "-"))
    }

    /// The short code.
    public var description: String { code }
}

/// Whether a part is a region, as in `US` and `419`, or a script, as in `Hans`.
private func isRegionOrScript(_ part: Substring.UTF8View) -> Bool {
    guard let first = part.first else { return false }
    switch part.count {
    case 2: return part.allSatisfy(isCapital)
    case 3: return part.allSatisfy(\.isDigit)
    default: return isCapital(first) && part.dropFirst().allSatisfy(isSmallLetter)
    }
}

private func isSmallLetter(_ character: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
}

private func isCapital(_ character: UInt8) -> Bool {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(character)
}
