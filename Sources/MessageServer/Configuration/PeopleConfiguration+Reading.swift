import BalloonJSON
import BusinessMessages

extension PeopleConfiguration {
    /// Reads `people`; nil after reporting a problem with `text`, without which the object has no use.
    static func read(_ reader: inout ObjectReader) -> PeopleConfiguration? {
        let (words, phrases) = (Self.words("words", &reader), Self.words("phrases", &reader))
        let menu = reader.anyObject("menu").flatMap { Self.menu($0, &reader) }
        let texts = readTexts(&reader)
        var people = PeopleConfiguration(text: "")
        people.texts = texts
        let (minutes, minute) = (1...7 * 24 * 60, Duration.seconds(60))
        reader.set(&people.unclaimedTime, "unclaimedMinutes", in: minutes, of: minute)
        reader.set(&people.silentTime, "silentMinutes", in: minutes, of: minute)
        reader.set(&people.returnTime, "returnMinutes", in: minutes, of: minute)
        reader.require("text", hint: "write the text that a customer gets while waiting for a person")
        people.link = reader.value("link", SettingFormat.conversationLink)
        people.hours = reader.object("hours", OpeningHours.read)
        people.readQueues(&reader)
        people.readSavedReplies(&reader)
        if people.hasHours || reader.has("hours"), texts[.closed] == nil {
            reader.problem(
                "has \"hours\" without \"closedText\"",
                hint: "write what a customer is told who asks for a person while you are closed")
        }
        guard texts[.wait] != nil else { return nil }
        people.words = CustomerWords(
            words: words ?? people.words.words, phrases: phrases ?? people.words.phrases)
        people.menu = menu
        if texts[.unclaimed] != nil, people.unclaimedTime >= people.returnTime {
            reader.problem(
                "sends \"unclaimedText\" after \"returnMinutes\", when nobody waits any more",
                hint: "make \"unclaimedMinutes\" smaller than \"returnMinutes\"")
        }
        return people
    }

    /// Reads a list for every language, or an object with a list for each language, which adds to the words of
    /// Apple.
    private static func words(_ key: String, _ reader: inout ObjectReader) -> Localized<[String]>? {
        let all = key == "words" ? CustomerWords.person.words.all : []
        guard !reader.isObject(key) else {
            return reader.object(key) { Localized(all, $0.languages { list($1, &$0) }) }
        }
        return list(key, &reader).map { Localized($0) }
    }

    private static func list(_ key: String, _ reader: inout ObjectReader) -> [String]? {
        guard let words = reader.texts(key) else { return nil }
        if words.count > maximumWords, let word = words.last {
            reader.report(word, "is one word too many", hint: "give at most \(maximumWords) words")
        }
        for word in words {
            let isBlank = word.text.allSatisfy(\.isWhitespace)
            guard isBlank || word.text.utf8.count > maximumWordBytes else { continue }
            reader.report(
                word, "is blank or longer than \(maximumWordBytes) bytes", hint: "write a word such as agent")
        }
        return words.map(\.text)
    }

    /// Reads the menu; nil after reporting a problem.
    private static func menu(_ json: JSONValue, _ reader: inout ObjectReader) -> OutboundMessage? {
        guard let document = try? JSONDocument(Array(json.text)),
            let menu = try? OutboundMessage(json: document),
            menu.fallback?.isEmpty == false, !menu.hasFiles,
            ![.authentication, .applePay].contains(menu.kind)
        else {
            reader.problem(
                "has a \"menu\" that is no message of a picker with a \"fallback\", or that names files",
                hint:
                    "write a message that balloon validate accepts, and the text of old devices in \"fallback\""
            )
            return nil
        }
        return menu
    }

    /// Reads the texts that an object has for every language.
    static func readTexts(_ reader: inout ObjectReader) -> [ServerText: Localized<String>] {
        var texts: [ServerText: Localized<String>] = [:]
        for key in ServerText.allCases {
            texts[key] = key.setting.flatMap { reader.customerText($0) }.map { Localized($0) }
        }
        return texts
    }
}

extension ObjectReader {
    /// Reads a text for customers; reports one that is empty or too long.
    mutating func customerText(_ key: String) -> String? {
        guard let text = text(key) else { return nil }
        let maximum = PeopleConfiguration.maximumTextBytes
        if text.text.allSatisfy(\.isWhitespace) || text.text.utf8.count > maximum {
            report(text, "is empty or longer than \(maximum) bytes", hint: "write what customers are told")
        }
        return text.text
    }

    /// Reads `texts`, by key and language for keys that have a text; returns the same texts with these languages.
    mutating func translations(of texts: [ServerText: Localized<String>]) -> [ServerText: Localized<String>] {
        var texts = texts
        for key in ServerText.allCases where texts[key] != nil {
            object(key.rawValue) { reader in
                texts[key]?.languages = reader.languages { $0.customerText($1) }
            }
        }
        return texts
    }
}

extension SettingFormat {
    /// An address with `{conversation}` for the identifier of a conversation.
    static func conversationLink(_ text: String) throws(InvalidSetting) -> String {
        let isAddress = ["https://", "http://"].contains(where: text.hasPrefix)
        return try checked(
            text,
            isAddress && text.contains("{conversation}") && text.utf8.count <= 2000
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) },
            "is no address with {conversation}",
            hint: "write an address such as https://crm.example.com/chats/{conversation}")
    }
}
