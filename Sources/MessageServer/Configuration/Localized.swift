/// A setting that may differ by the customer's language.
///
/// In JSON an object whose keys are languages, such as `{"de": "Gleich.", "pt-BR": "Já vai."}`.
package struct Localized<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The value for every language.
    package var all: Value
    /// The values of languages; the keys are small letters with `-`, such as `de` and `pt-br`.
    package var languages: [String: Value] = [:]

    /// Creates a setting from its value for every language and those of languages.
    package init(_ all: Value, _ languages: [String: Value] = [:]) {
        self.all = all
        self.languages = languages
    }

    /// Returns the values for a customer's `locale`, such as `pt_BR`: the most specific first, that for every
    /// language last.
    package func values(for locale: String?) -> [Value] {
        keys(for: locale).compactMap { languages[$0] } + [all]
    }

    /// The language of the first value for a customer's `locale`; nil when that is the one for every language.
    func language(for locale: String?) -> String? { keys(for: locale).first }

    private func keys(for locale: String?) -> [String] {
        guard let locale, !languages.isEmpty, locale.utf8.count <= Language.maximumBytes else { return [] }
        var language = Language.key(locale)[...]
        var keys: [String] = []
        while !language.isEmpty {
            if languages[String(language)] != nil { keys.append(String(language)) }
            language = language.prefix(upTo: language.lastIndex(of: "-") ?? language.startIndex)
        }
        return keys
    }
}

extension Localized<String> {
    /// Returns the text for a customer's `locale`.
    package func text(for locale: String?) -> String { values(for: locale).first ?? all }
}

/// Names of languages (BCP 47).
enum Language {
    static let maximumBytes = 35
    static let maximumCount = 50

    /// A language or locale as a key: `pt_BR` is `pt-br`.
    static func key(_ name: String) -> String { name.lowercased().replacing("_", with: "-") }

    /// Whether the text names a language: parts of 1 to 8 letters and digits, the first one of 2 or 3 letters.
    static func isName(_ text: String) -> Bool {
        let parts = key(text).split(separator: "-", omittingEmptySubsequences: false)
        return text.utf8.count <= maximumBytes && (2...3).contains(parts.first?.count ?? 0)
            && parts.allSatisfy { part in
                (1...8).contains(part.utf8.count)
                    && part.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
            }
    }
}

extension ObjectReader {
    /// Returns the values of an object whose keys are languages, each read by `read`.
    mutating func languages<Value>(_ read: (inout ObjectReader, String) -> Value?) -> [String: Value] {
        var values: [String: Value] = [:]
        for name in names.prefix(Language.maximumCount) where Language.isName(name) {
            if let value = read(&self, name) { values[Language.key(name)] = value }
        }
        return values
    }
}
