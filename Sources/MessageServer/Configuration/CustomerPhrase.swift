/// A word or phrase for which texts of a customer are searched together with many others.
struct CustomerPhrase: Hashable, Sendable {
    /// The phrase in the form of ``CustomerWords/comparable(_:)``.
    private let text: String
    /// A word that every text with the phrase has; nil when the phrase may begin or end inside of a word.
    private let word: String?

    init(_ text: String) {
        self.text = CustomerWords.comparable(text)
        let words = self.text.split(separator: " ")
        let isWhole = self.text.first?.isCased == true && (words.count > 1 || self.text.last?.isCased == true)
        word = isWhole ? words.first.map { String($0) } : nil
    }

    /// The texts, with their words: most phrases are in none of the texts, which one look at the words shows.
    struct Texts {
        private let texts: [String]
        private let words: Set<String>

        init(_ texts: [String]) {
            self.texts = texts.map(CustomerWords.comparable)
            var words: Set<String> = []
            for text in self.texts {
                for word in text.utf8.split(separator: UInt8(ascii: " ")) { words.insert(String(word) ?? "") }
            }
            self.words = words
        }

        func hold(_ phrase: CustomerPhrase) -> Bool {
            if let word = phrase.word, !words.contains(word) { return false }
            return texts.contains { CustomerWords.holds($0, phrase.text) }
        }
    }
}
