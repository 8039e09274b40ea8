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
    /// The question for a customer whose conversation a person ends: `people.survey` in every other language.
    case survey
    /// The text that says that automation answers: `disclosure` in every other language.
    case disclosure
    /// The text while the handler takes its time: `firstAnswer.text` in every other language.
    case firstAnswer
    /// The confirmation for a customer who agrees to later messages: `notices.text` in every other language.
    case subscribed
    /// The confirmation for a customer who withdraws: `notices.withdrawnText` in every other language.
    case unsubscribed

    /// The name of the setting in `people`, and in a queue, for every other language; nil for the other texts.
    package var setting: String? {
        switch self {
        case .wait: "text"
        case .unclaimed: "unclaimedText"
        case .closed: "closedText"
        case .transfer: "transferText"
        case .opening: "openingText"
        case .survey: "survey"
        case .disclosure, .firstAnswer, .subscribed, .unsubscribed: nil
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
        case .survey:
            language == "de"
                ? "Wie zufrieden waren Sie, von 1 (gar nicht) bis 5 (sehr)?"
                : "How satisfied were you, from 1 (not at all) to 5 (very)?"
        case .disclosure:
            language == "de"
                ? "Hier antwortet ein automatischer Assistent. Schreiben Sie \u{201E}help\u{201C} für einen Menschen."
                : "You are writing with an automated assistant. Write \u{201C}help\u{201D} for a person."
        case .firstAnswer:
            language == "de" ? "Einen Moment, bitte." : "One moment, please."
        case .subscribed:
            language == "de"
                ? "Sie bekommen unsere Nachrichten. Mit STOP beenden Sie das."
                : "You get our messages. Write STOP to end them."
        case .unsubscribed:
            language == "de" ? "Sie bekommen keine Nachrichten mehr." : "You get no more messages."
        }
    }
}

extension BusinessConfiguration {
    /// Returns the text of a key; nil when the server sends none.
    package func text(_ key: ServerText) -> Localized<String>? {
        switch key {
        case .wait, .unclaimed, .closed, .transfer, .opening, .survey: people?.texts[key]
        case .disclosure: opening.disclosure
        case .firstAnswer: opening.firstAnswer?.text
        case .subscribed: notices?.text
        case .unsubscribed: notices?.withdrawnText
        }
    }

    /// The languages for which the business's file has a text, a word or a phrase.
    package var languages: Set<String> {
        let texts = ServerText.allCases.compactMap { text($0)?.languages.keys }
        return Set(texts.joined()).union(people?.words.words.languages.keys.map(\.self) ?? [])
            .union(people?.words.phrases.languages.keys.map(\.self) ?? [])
    }
}
