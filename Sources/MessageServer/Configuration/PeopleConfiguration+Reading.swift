extension PeopleConfiguration {
    /// The keys of `people` in a business's file.
    static let keys = [
        "words", "text", "unclaimedText", "unclaimedMinutes", "silentMinutes", "returnMinutes",
    ]
    private static let maximumMinutes = 7 * 24 * 60

    /// Reads `people`; nil after reporting a problem with `text`, without which the object has no use.
    static func read(_ reader: inout ObjectReader) -> PeopleConfiguration? {
        let words = reader.texts("words")
        let text = reader.text("text")
        let unclaimedText = reader.text("unclaimedText")
        let unclaimed = reader.integer("unclaimedMinutes", in: 1...maximumMinutes)
        let silent = reader.integer("silentMinutes", in: 1...maximumMinutes)
        let unanswered = reader.integer("returnMinutes", in: 1...maximumMinutes)
        guard let text else {
            if !reader.has("text") {
                reader.problem(
                    "has no \"text\"", hint: "write the text that a customer gets while waiting for a person")
            }
            return nil
        }
        var people = PeopleConfiguration(text: text.text)
        people.words = words?.map(\.text) ?? people.words
        people.unclaimedText = unclaimedText?.text
        people.unclaimedTime = unclaimed.map { .seconds($0 * 60) } ?? people.unclaimedTime
        people.silentTime = silent.map { .seconds($0 * 60) } ?? people.silentTime
        people.returnTime = unanswered.map { .seconds($0 * 60) } ?? people.returnTime
        check(words ?? [], &reader)
        for text in [text, unclaimedText].compactMap({ $0 }) { check(text, &reader) }
        if unclaimedText != nil, people.unclaimedTime >= people.returnTime {
            reader.problem(
                "sends \"unclaimedText\" after \"returnMinutes\", when nobody waits any more",
                hint: "make \"unclaimedMinutes\" smaller than \"returnMinutes\"")
        }
        return people
    }

    private static func check(_ words: [Setting], _ reader: inout ObjectReader) {
        if words.count > maximumWords, let word = words.last {
            reader.report(word, "is one word too many", hint: "give at most \(maximumWords) words")
        }
        for word in words {
            let isBlank = word.text.allSatisfy(\.isWhitespace)
            guard isBlank || word.text.utf8.count > maximumWordBytes else { continue }
            reader.report(
                word, "is blank or longer than \(maximumWordBytes) bytes", hint: "write a word such as agent")
        }
    }

    private static func check(_ text: Setting, _ reader: inout ObjectReader) {
        guard text.text.allSatisfy(\.isWhitespace) || text.text.utf8.count > maximumTextBytes else { return }
        reader.report(
            text, "is empty or longer than \(maximumTextBytes) bytes", hint: "write what customers are told")
    }
}
