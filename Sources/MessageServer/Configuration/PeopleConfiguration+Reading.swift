extension PeopleConfiguration {
    /// Reads `people`; nil after reporting a problem with `text`, without which the object has no use.
    static func read(_ reader: inout ObjectReader) -> PeopleConfiguration? {
        let words = reader.texts("words")
        let text = reader.text("text")
        let unclaimedText = reader.text("unclaimedText")
        var people = PeopleConfiguration(text: text?.text ?? "")
        let (minutes, minute) = (1...7 * 24 * 60, Duration.seconds(60))
        reader.set(&people.unclaimedTime, "unclaimedMinutes", in: minutes, of: minute)
        reader.set(&people.silentTime, "silentMinutes", in: minutes, of: minute)
        reader.set(&people.returnTime, "returnMinutes", in: minutes, of: minute)
        reader.require("text", hint: "write the text that a customer gets while waiting for a person")
        guard let text else { return nil }
        people.words = words?.map(\.text) ?? people.words
        people.unclaimedText = unclaimedText?.text
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
