/// Words of one language by which the checks recognize what a text says.
///
/// The lists are the project's own and no part of Apple's rules.
struct LanguageWords: Sendable {
    /// Words that say that a program answers.
    let disclosure: [String]
    /// Claims to be a human.
    let claims: [String]
    /// Words for persons who answer.
    let persons: [String]
    /// Words for a time or a wait.
    let times: [String]
    /// Promises of an answer within minutes.
    let minutes: [String]
    /// Frequent short words, which tell languages apart.
    let frequent: [String]
    /// Words of advertising.
    let offers: [String]
    /// Personal data, asked for.
    let personal: [String]
    /// Secrets that no business may ask for in a text.
    let secrets: [String]
    /// Questions how satisfied the customer was.
    let survey: [String]
    /// Words at the end of a conversation.
    let closings: [String]

    /// The language of a locale, such as `de` of `de_AT`.
    static func key(_ locale: String) -> String {
        String(locale.lowercased().prefix { $0.isLetter })
    }

    /// The lists of a locale's language; nil for a language without lists.
    static func of(_ locale: String) -> LanguageWords? { all[key(locale)] }

    /// The language whose frequent words a text has most often; nil when no language is clearly ahead.
    static func detect(_ text: String) -> String? {
        let words = Words(text)
        let counts = all.map { (language: $0.key, count: words.count(of: $0.value.frequent)) }
            .sorted { ($1.count, $0.language) < ($0.count, $1.language) }
        guard counts.count > 1, counts[0].count >= 2, counts[0].count > counts[1].count else { return nil }
        return counts[0].language
    }

    static let all: [String: LanguageWords] = ["en": english, "de": german, "fr": french, "es": spanish]

    private static let english = LanguageWords(
        disclosure: ["automated", "automatic", "automatically", "bot", "chatbot", "virtual", "ai", "robot"],
        claims: ["i am a human", "i'm a human", "i am a real person", "i'm a real person", "i am not a bot"],
        persons: [
            "colleague", "colleagues", "agent", "agents", "person", "human", "team", "someone", "advisor",
            "representative", "expert",
        ],
        times: [
            "minute", "minutes", "hour", "hours", "moment", "soon", "shortly", "today", "tomorrow", "morning",
            "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "now", "seconds",
        ],
        minutes: ["minute", "minutes", "moment", "right away", "shortly", "soon"],
        frequent: [
            "the", "you", "your", "and", "to", "is", "what", "we", "for", "can", "how", "with", "of", "a",
            "please", "do", "are", "will",
        ],
        offers: ["sale", "discount", "deal", "offer", "save", "promo", "voucher", "free", "new arrivals"],
        personal: [
            "email", "e-mail", "phone number", "date of birth", "birthday", "address", "telephone number",
        ],
        secrets: ["password", "pin", "card number", "credit card", "cvv", "security code"],
        survey: ["how satisfied", "rate", "rating", "how did we do", "stars", "feedback"],
        closings: [
            "goodbye", "bye", "thank you", "thanks", "take care", "have a nice", "have a good",
            "anything else",
        ])

    private static let german = LanguageWords(
        disclosure: [
            "automatisch", "automatische", "automatischer", "automatisches", "automatisiert",
            "automatisierte", "bot", "chatbot", "virtuell", "virtuelle", "virtueller", "ki", "roboter",
            "automatisierter",
        ],
        claims: ["ich bin ein mensch", "ich bin kein bot", "ich bin eine echte person"],
        persons: [
            "kollegin", "kollege", "kollegen", "mitarbeiter", "mitarbeiterin", "mensch", "menschen", "person",
            "team", "jemand", "berater", "beraterin",
        ],
        times: [
            "minute", "minuten", "stunde", "stunden", "moment", "gleich", "bald", "heute", "morgen", "uhr",
            "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "sofort",
            "sekunden",
        ],
        minutes: ["minute", "minuten", "moment", "gleich", "sofort", "bald"],
        frequent: [
            "der", "die", "das", "und", "ist", "sie", "wir", "ich", "was", "für", "können", "mit", "bitte",
            "ihnen", "ihr", "ihre", "wie", "einen", "eine", "ein", "nicht", "oder", "zu",
        ],
        offers: ["rabatt", "angebot", "sonderangebot", "aktion", "gutschein", "gratis", "sparen"],
        personal: ["e-mail", "email", "telefonnummer", "geburtsdatum", "adresse", "anschrift"],
        secrets: [
            "passwort", "kennwort", "pin", "kartennummer", "kreditkarte", "kreditkartennummer", "prüfziffer",
        ],
        survey: ["wie zufrieden", "bewerten", "bewertung", "sterne", "feedback"],
        closings: ["danke", "dank", "auf wiedersehen", "tschüss", "schönen tag", "bis bald", "alles gute"])

    private static let french = LanguageWords(
        disclosure: [
            "automatique", "automatisé", "automatisée", "bot", "chatbot", "virtuel", "virtuelle", "ia",
            "robot", "automatiquement",
        ],
        claims: ["je suis un humain", "je ne suis pas un robot", "je suis une vraie personne"],
        persons: [
            "collègue", "collègues", "conseiller", "conseillère", "agent", "personne", "humain", "équipe",
            "quelqu'un",
        ],
        times: [
            "minute", "minutes", "heure", "heures", "instant", "bientôt", "aujourd'hui", "demain", "matin",
            "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "secondes",
        ],
        minutes: ["minute", "minutes", "instant", "bientôt"],
        frequent: [
            "le", "la", "les", "vous", "votre", "et", "est", "nous", "je", "pour", "que", "comment", "avec",
            "un", "une", "des", "du", "pouvons", "suis", "dans",
        ],
        offers: ["soldes", "remise", "promotion", "offre", "réduction", "gratuit"],
        personal: ["e-mail", "email", "téléphone", "date de naissance", "adresse"],
        secrets: ["mot de passe", "code pin", "numéro de carte", "carte bancaire", "cryptogramme"],
        survey: ["satisfait", "satisfaite", "noter", "note", "étoiles", "avis"],
        closings: ["merci", "au revoir", "bonne journée", "à bientôt"])

    private static let spanish = LanguageWords(
        disclosure: [
            "automático", "automática", "automatizado", "automatizada", "bot", "chatbot", "virtual", "ia",
            "robot",
        ],
        claims: ["soy un humano", "no soy un robot", "soy una persona real"],
        persons: [
            "compañero", "compañera", "agente", "persona", "humano", "equipo", "alguien", "asesor", "asesora",
        ],
        times: [
            "minuto", "minutos", "hora", "horas", "momento", "pronto", "hoy", "mañana", "lunes", "martes",
            "miércoles", "jueves", "viernes", "sábado", "domingo", "segundos",
        ],
        minutes: ["minuto", "minutos", "momento", "pronto"],
        frequent: [
            "el", "la", "los", "usted", "su", "y", "es", "nosotros", "para", "que", "cómo", "con", "un",
            "una", "qué", "podemos", "soy", "del", "en", "le",
        ],
        offers: ["rebajas", "descuento", "promoción", "oferta", "gratis", "ahorre"],
        personal: [
            "correo electrónico", "e-mail", "email", "teléfono", "fecha de nacimiento", "dirección",
        ],
        secrets: ["contraseña", "pin", "número de tarjeta", "tarjeta de crédito", "código de seguridad"],
        survey: ["satisfecho", "satisfecha", "valorar", "valoración", "estrellas", "opinión"],
        closings: ["gracias", "adiós", "hasta luego", "buen día", "hasta pronto"])
}

/// A text as words in small letters.
struct Words {
    private let padded: String

    init(_ text: String) {
        let words = text.lowercased().replacing("’", with: "'").split {
            !($0.isLetter || $0.isNumber || $0 == "'" || $0 == "-")
        }
        padded = " " + words.joined(separator: " ") + " "
    }

    /// Whether the text has a word or a phrase.
    func has(_ phrase: String) -> Bool { padded.contains(" " + phrase + " ") }

    /// The first of the phrases that the text has.
    func first(of phrases: [String]) -> String? { phrases.first(where: has) }

    /// How many words of the text are among the words.
    func count(of words: [String]) -> Int {
        padded.split(separator: " ").count { words.contains(String($0)) }
    }

    /// Whether a word of the text is a number.
    var hasNumber: Bool { padded.contains(where: \.isNumber) }
}
