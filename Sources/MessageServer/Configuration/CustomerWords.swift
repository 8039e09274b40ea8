import BalloonJSON
import BusinessMessages

/// Words and phrases of customers that the server understands itself.
package struct CustomerWords: Hashable, Sendable {
    /// Words that must be the whole text.
    let words: Localized<[String]>
    /// Phrases that may stand anywhere in the text.
    let phrases: Localized<[String]>

    /// Creates a set of words and phrases, which are compared without case and punctuation.
    package init(words: Localized<[String]>, phrases: Localized<[String]> = Localized([])) {
        let comparable = { (texts: [String]) in texts.map(Self.comparable) }
        self.words = Localized(comparable(words.all), words.languages.mapValues(comparable))
        self.phrases = Localized(comparable(phrases.all), phrases.languages.mapValues(comparable))
    }

    /// The words that Apple names for a person.
    package static let person = CustomerWords(words: Localized(["agent", "support", "help"]))
    /// The words that Apple names for the menu.
    package static let menu = CustomerWords(words: Localized(["menu", "list", "?"]))

    /// The maximum size of a text, in bytes, that may be one of the words.
    private static let maximumWordBytes = 1000
    /// How many bytes at the beginning and at the end of a text are searched for phrases.
    private static let maximumSearchedBytes = 4000

    /// Whether a text of a customer with this `locale` is one of the words or has one of the phrases.
    package func match(_ text: String, locale: String?) -> Bool {
        let phrases = phrases.values(for: locale).joined()
        let isShort = text.utf8.count <= Self.maximumWordBytes
        guard isShort || !phrases.isEmpty else { return false }
        var parts = [text.cut(toBytes: Self.maximumSearchedBytes)]
        if text.utf8.count > Self.maximumSearchedBytes {
            parts.append(String(decoding: text.utf8.suffix(Self.maximumSearchedBytes), as: UTF8.self))
        }
        parts = parts.map(Self.comparable)
        return isShort && words.values(for: locale).contains { $0.contains(parts[0]) }
            || phrases.contains { phrase in parts.contains { Self.holds($0, phrase) } }
    }

    /// The words of the text in small letters, with a space between them.
    ///
    /// A text without a letter or digit, such as `?`, loses the blanks around it only.
    static func comparable(_ text: String) -> String {
        if let simple = comparable(ascii: text.utf8) { return simple }
        let words = text.lowercased().split { (!$0.isLetter && !$0.isNumber) || $0.isEmoji }
        return words.isEmpty
            ? text.split(whereSeparator: \.isWhitespace).joined(separator: " ") : words.joined(separator: " ")
    }

    /// The same for a text of ASCII with a letter or digit, which most texts are; nil for another one.
    private static func comparable(ascii text: String.UTF8View) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var isInWord = false
        for byte in text {
            guard byte < 0x80 else { return nil }
            let isWord = byte.isLetter || byte.isDigit
            if isWord {
                if !isInWord, !bytes.isEmpty { bytes.append(UInt8(ascii: " ")) }
                bytes.append(byte.isLetter ? byte | 0x20 : byte)
            }
            isInWord = isWord
        }
        return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Whether a word or phrase stands anywhere in a text, and not as a part of longer words; both in the form of
    /// ``comparable(_:)``.
    ///
    /// In a script without small letters, such as Arabic or Chinese, a word may have neighbors without a blank.
    static func holds(_ text: String, _ phrase: String) -> Bool {
        guard !phrase.isEmpty else { return false }
        let isOpen = { (edge: Character?, neighbor: Character?) in
            guard let edge, let neighbor, edge.isCased else { return true }
            return !neighbor.isLetter && !neighbor.isNumber
        }
        return text.ranges(of: phrase).contains { range in
            isOpen(phrase.first, text[..<range.lowerBound].last)
                && isOpen(phrase.last, text[range.upperBound...].first)
        }
    }

    /// Whether an event is a text that ``match(_:locale:)`` accepts.
    func match(_ event: InboundEvent) -> Bool {
        // A tapback quotes the business's own message, which may have one of the phrases.
        guard case .text(let text) = event.content, text.tapback == nil else { return false }
        return match(text.plainBody, locale: event.attributes.locale)
    }
}

extension Character {
    /// Whether the character is an emoji, which may count as a letter or a number, such as ℹ️ and 1️⃣.
    fileprivate var isEmoji: Bool {
        unicodeScalars.contains { !$0.isASCII && ($0.properties.isEmoji || $0 == "\u{20E3}") }
    }
}
