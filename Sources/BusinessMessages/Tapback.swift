/// A reaction to an earlier message, which Apple delivers as an English sentence: `Liked “Nice to meet you”`.
///
/// Only English sentences are recognised; in other languages the message stays a plain text. A customer can
/// also type such a sentence.
public struct Tapback: Equatable, Sendable {
    /// The reaction of the customer.
    public enum Reaction: Equatable, Sendable {
        /// A heart.
        case loved
        /// Thumbs up.
        case liked
        /// Thumbs down.
        case disliked
        /// The laughter "Ha ha".
        case laughed
        /// Exclamation marks.
        case emphasized
        /// A question mark.
        case questioned
        /// Any other emoji.
        case emoji(String)
        /// A sticker.
        case sticker
    }

    /// The target of the reaction.
    public enum Target: Equatable, Sendable {
        /// The message with this text, as the sentence quotes it; the quotation of a long text may be cut.
        case text(String)
        /// One or more files, in Apple's words: `an image`, `2 movies`.
        case attachment(String)
        /// This many interactive bubbles.
        case businessMessages(Int)
    }

    /// The reaction of the customer.
    public let reaction: Reaction
    /// Whether the customer removed the reaction.
    public let isRemoved: Bool
    /// The target of the reaction.
    public let target: Target

    /// Creates a reaction.
    public init(_ reaction: Reaction, isRemoved: Bool = false, to target: Target) {
        self.reaction = reaction
        self.isRemoved = isRemoved
        self.target = target
    }

    /// The maximum size of a body that is read; Apple cuts the quotation of a long text.
    static let maximumProseBytes = 8192

    /// Parses a body; `nil` when it does not describe a reaction.
    package init?(prose body: String) {
        // Every listed conversation and every text of a customer is read, and a text can have megabytes.
        guard body.utf8.count <= Self.maximumProseBytes else { return nil }
        let prose = body.trimmed
        guard let (reaction, isRemoved, rest) = readOpening(of: prose), let target = Target(prose: rest)
        else {
            return nil
        }
        self.init(reaction, isRemoved: isRemoved, to: target)
    }
}

private let verbs: [(String, Tapback.Reaction)] = [
    ("Loved ", .loved), ("Liked ", .liked), ("Disliked ", .disliked), ("Laughed at ", .laughed),
    ("Emphasized ", .emphasized), ("Emphasised ", .emphasized), ("Questioned ", .questioned),
]

private let removals: [(String, Tapback.Reaction)] = [
    ("a heart", .loved), ("a like", .liked), ("a dislike", .disliked), ("a laugh", .laughed),
    ("an exclamation mark", .emphasized), ("an exclamation", .emphasized), ("a question mark", .questioned),
    ("a sticker", .sticker),
]

/// Splits a sentence into the reaction at its start and the rest, which names the target.
///
/// Nil when the sentence begins with no reaction.
private func readOpening(of prose: Substring) -> (Tapback.Reaction, isRemoved: Bool, Substring)? {
    for (verb, reaction) in verbs {
        if let rest = prose.suffix(after: verb) { return (reaction, false, rest) }
    }
    if let rest = prose.suffix(after: "Reacted with a sticker to ") { return (.sticker, false, rest) }
    if let (emoji, rest) = prose.suffix(after: "Reacted ")?.split(at: " to ") {
        return emoji.isOneEmoji ? (.emoji(String(emoji)), false, rest) : nil
    }
    guard let (what, rest) = prose.suffix(after: "Removed ")?.split(at: " from ") else { return nil }
    if let known = removals.first(where: { $0.0.utf8.elementsEqual(what.utf8) }) {
        return (known.1, true, rest)
    }
    let emoji = what.suffix(after: "a ") ?? what.suffix(after: "an ") ?? what
    return emoji.isOneEmoji ? (.emoji(String(emoji)), true, rest) : nil
}

extension Tapback.Target {
    private static let nouns = [
        "image", "photo", "movie", "video", "attachment", "audio message", "link", "location", "contact",
        "sticker", "file", "document",
    ]

    /// Parses the target after the reaction: a quotation, a file or interactive bubbles.
    fileprivate init?(prose: Substring) {
        if let text = prose.quoted {
            self = .text(String(text))
            return
        }
        guard let (amount, things) = prose.split(at: " ") else { return nil }
        let noun = things.utf8.last == UInt8(ascii: "s") ? things.utf8.dropLast() : things.utf8[...]
        let isOne = ["a", "an"].contains { amount.utf8.elementsEqual($0.utf8) }
        guard let count = isOne ? 1 : Int(amount), count > 0 else { return nil }
        if noun.elementsEqual("Business Message".utf8) {
            self = .businessMessages(count)
        } else if Self.nouns.contains(where: { noun.elementsEqual($0.utf8) }) {
            self = .attachment(String(prose))
        } else {
            return nil
        }
    }
}

extension Substring {
    /// The text after `prefix`, which is ASCII; compared as bytes, because `hasPrefix` takes time proportional to
    /// the square of a run of combining marks.
    fileprivate func suffix(after prefix: String) -> Substring? {
        utf8.starts(with: prefix.utf8) ? self[utf8.index(startIndex, offsetBy: prefix.utf8.count)...] : nil
    }

    /// The parts before and after the first `separator`; nil when the text does not contain it.
    fileprivate func split(at separator: String) -> (Substring, Substring)? {
        let wanted = Array(separator.utf8)
        guard let range = Array(utf8).firstRange(of: wanted) else { return nil }
        let start = utf8.index(startIndex, offsetBy: range.lowerBound)
        return (self[..<start], self[utf8.index(start, offsetBy: wanted.count)...])
    }

    /// The text without the curly or straight quotation marks that enclose it; nil when it has none.
    fileprivate var quoted: Substring? {
        for (opening, closing) in [("“", "”"), ("\"", "\"")]
        where utf8.count >= opening.utf8.count + closing.utf8.count && utf8.starts(with: opening.utf8)
            && utf8.suffix(closing.utf8.count).elementsEqual(closing.utf8)
        {
            let start = utf8.index(startIndex, offsetBy: opening.utf8.count)
            return self[start..<utf8.index(endIndex, offsetBy: -closing.utf8.count)]
        }
        return nil
    }

    fileprivate var isOneEmoji: Bool {
        guard count == 1, let character = first else { return false }
        return character.unicodeScalars.contains {
            ($0.properties.isEmoji && $0.value > 0xFF) || $0 == "\u{FE0F}"
        }
    }
}
