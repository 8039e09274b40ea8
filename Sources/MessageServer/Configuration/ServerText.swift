/// A text that the server sends to customers itself; the raw value is its key in `texts` of a business's file.
package enum ServerText: String, CaseIterable, Sendable {
    /// The text for a customer who waits for a person: `people.text` in every other language.
    case wait
    /// The text for a customer who has waited long: `people.unclaimedText` in every other language.
    case unclaimed
    /// The text for a customer who asks for a person outside of the hours: `people.closedText` in every other language.
    case closed
    /// The text for a customer whom a person transfers to another one: `people.transferText` in every other language.
    case transfer
    /// The first words of a person: `people.openingText` in every other language.
    case opening

    /// The name of the setting in `people`, and in a queue, for every other language.
    package var setting: String {
        switch self {
        case .wait: "text"
        case .unclaimed: "unclaimedText"
        case .closed: "closedText"
        case .transfer: "transferText"
        case .opening: "openingText"
        }
    }

    /// The languages of ``sample(in:)``.
    package static let sampleLanguages = ["en", "de"]

    /// Returns a text to start from.
    package func sample(in language: String) -> String {
        switch self {
        case .wait:
            language == "de"
                ? "Eine Kollegin oder ein Kollege antwortet in wenigen Minuten."
                : "A colleague answers in a few minutes."
        case .unclaimed:
            language == "de"
                ? "Gerade sind alle im Gespräch. Wir haben Sie nicht vergessen."
                : "All of us are busy. We have not forgotten you."
        case .closed:
            language == "de"
                ? "Wir haben gerade geschlossen. Ein Mensch antwortet Ihnen {opensAt}."
                : "We are closed now. A colleague answers {opensAt}."
        case .transfer:
            language == "de"
                ? "Ich verbinde Sie mit jemandem, der Ihnen weiterhilft."
                : "I am passing you on to a colleague who can help you."
        case .opening:
            language == "de" ? "Guten Tag, hier ist {name}." : "Hello, this is {name}."
        }
    }
}

extension BusinessConfiguration {
    /// Returns the text of a key; nil when the server sends none.
    package func text(_ key: ServerText) -> Localized<String>? { people?.texts[key] }

    /// The languages for which the business's file has a text, a word or a phrase.
    package var languages: Set<String> {
        let texts = ServerText.allCases.compactMap { text($0)?.languages.keys }
        return Set(texts.joined()).union(people?.words.words.languages.keys.map(\.self) ?? [])
            .union(people?.words.phrases.languages.keys.map(\.self) ?? [])
    }
}
