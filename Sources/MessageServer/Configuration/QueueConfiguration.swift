import BalloonJSON
import MessageStore

/// A queue in which conversations wait for a person.
///
/// ```json
/// {"id": "returns", "name": "Returns", "languages": ["fr"], "persons": ["agent-7"], "priority": 5, "capacity": 4,
///  "acceptSeconds": 60, "firstAnswerSeconds": 120, "answerSeconds": 300, "overflow": {"to": "general", "minutes": 10}}
/// ```
/// Only `id` is required.
package struct QueueConfiguration: Hashable, Sendable {
    /// The identifier: 1 to 64 of `a-z`, `0-9` and `-`.
    package let id: String
    /// The name that people see; the identifier when it is missing.
    package var name: String
    /// The languages of the people, such as `fr`; no conversation in another language enters the queue by a rule.
    package var languages: [String] = []
    /// The identifiers of the persons who answer; nil means everybody.
    package var persons: Set<String>?
    /// The priority of conversations without one of their own, from 0 to 9.
    package var priority = 0
    /// How many conversations of the queue one person gets at a time; nil means no limit.
    package var capacity: Int?
    /// How long a person who is available may take to accept an offer; nil means that nothing is offered.
    ///
    /// JSON: `acceptSeconds`.
    package var acceptTime: Duration?
    /// The target for the first answer of a person, counted from the begin of the wait; JSON: `firstAnswerSeconds`.
    package var firstAnswerTime: Duration?
    /// The target for each later answer; JSON: `answerSeconds`.
    package var answerTime: Duration?
    /// The hours in which its people answer; nil means those of the business.
    package var hours: OpeningHours?
    /// The texts that replace those of the business.
    package var texts: [ServerText: Localized<String>] = [:]
    /// The queue to which a conversation moves that has waited too long; JSON: `overflow`.
    package var overflow: Overflow?

    /// Another queue, and the time after which a conversation moves there.
    package struct Overflow: Hashable, Sendable {
        let queue: String
        let time: Duration

        package init(queue: String, time: Duration) { (self.queue, self.time) = (queue, time) }
    }

    /// Creates a queue for everybody.
    package init(id: String) { (self.id, name) = (id, id) }

    /// Whether people of the queue speak the language of a locale such as `fr_FR`; an unknown locale is any language.
    func speaks(_ locale: String?) -> Bool {
        guard let locale, !languages.isEmpty else { return true }
        return languages.contains { isLocale(locale, in: $0) }
    }

    /// The maximum number of queues of a business.
    static let maximumQueues = 100
}

/// A rule that chooses a queue; it matches when all of its conditions do.
///
/// ```json
/// {"queue": "returns", "intent": "returns", "group": "shop", "words": ["refund"], "locale": "fr", "lastPersonDays": 14}
/// {"queue": "vip", "handler": true}
/// ```
package struct QueueRule: Hashable, Sendable {
    /// The queue; nil for the queue that the handler named, JSON: `"handler": true`.
    package var queue: String?
    /// The intent and the group of the link that opened the conversation.
    package var intent: String?
    /// The group of the link.
    package var group: String?
    /// Words of which the customer's last messages have one.
    package var words: [String] = [] { didSet { phrases = words.map { CustomerPhrase($0) } } }
    /// The words in the form in which texts are searched.
    private(set) var phrases: [CustomerPhrase] = []
    /// The customer's language, such as `fr`, or locale, such as `fr_CA`.
    package var locale: String?
    /// The number of days within which a person of the queue answered; JSON: `lastPersonDays`.
    package var lastPersonDays: Int?

    /// Creates a rule; without a queue it is for the queue that the handler named.
    package init(
        queue: String? = nil, intent: String? = nil, group: String? = nil, words: [String] = [],
        locale: String? = nil, lastPersonDays: Int? = nil
    ) {
        (self.queue, self.intent, self.group) = (queue, intent, group)
        (self.words, self.locale, self.lastPersonDays) = (words, locale, lastPersonDays)
        phrases = words.map { CustomerPhrase($0) }
    }

    /// The maximum number of rules of a business.
    static let maximumRules = 100
}

/// Whether a locale such as `fr_FR` is `wanted`, or is in the language `wanted`.
func isLocale(_ locale: String, in wanted: String) -> Bool {
    // A name of a language or locale in a file is ASCII.
    let simple = { (byte: UInt8) in
        byte == UInt8(ascii: "-") ? UInt8(ascii: "_") : byte.isLetter ? byte | 0x20 : byte
    }
    var rest = locale.utf8[...]
    for byte in wanted.utf8 {
        guard let first = rest.popFirst(), simple(first) == simple(byte) else { return false }
    }
    return rest.first.map { simple($0) == UInt8(ascii: "_") } ?? true
}

extension PeopleConfiguration {
    /// Reads `queues` and `rules`, and reports rules and overflows that name no queue.
    mutating func readQueues(_ reader: inout ObjectReader) {
        var named: [Setting] = []
        var known: Set<String> = []
        queues =
            reader.objects("queues", maximum: QueueConfiguration.maximumQueues) { reader in
                Self.readQueue(&reader, &known, &named)
            } ?? []
        rules =
            reader.objects("rules", maximum: QueueRule.maximumRules) { Self.readRule(&$0, &named) } ?? []
        for queue in named where !known.contains(queue.text) {
            let hint = nearestSpelling(to: queue.text, among: Array(known)).map { "did you mean \($0)?" }
            reader.report(queue, "is not the id of a queue", hint: hint ?? "add it to \"queues\"")
        }
        if queues.first?.languages.isEmpty == false {
            reader.problem(
                "has a first queue with \"languages\": it gets every conversation that no rule places",
                hint: "put a queue without \"languages\" first")
        }
    }

    private static func readQueue(
        _ reader: inout ObjectReader, _ known: inout Set<String>, _ named: inout [Setting]
    ) -> QueueConfiguration? {
        reader.require("id", hint: "write an id such as returns")
        let id = reader.identifier(
            &known, "has the id of another queue", hint: "name each queue differently")
        var queue = QueueConfiguration(id: id)
        queue.name = reader.value("name", SettingFormat.personText) ?? id
        queue.languages = reader.texts("languages")?.map(\.text) ?? []
        queue.persons = reader.values("persons", SettingFormat.personText).map { Set($0) }
        reader.set(&queue.priority, "priority", in: Placement.priorities)
        queue.capacity = reader.integer("capacity", in: 1...1000)
        queue.acceptTime = reader.integer("acceptSeconds", in: 5...3600).map { .seconds($0) }
        let day = 86_400
        queue.firstAnswerTime = reader.integer("firstAnswerSeconds", in: 1...7 * day).map { .seconds($0) }
        queue.answerTime = reader.integer("answerSeconds", in: 1...7 * day).map { .seconds($0) }
        queue.hours = reader.object("hours", OpeningHours.read)
        queue.texts = readTexts(&reader)
        queue.texts = reader.object("texts") { $0.translations(of: queue.texts) } ?? queue.texts
        queue.overflow = reader.object("overflow") { reader in
            reader.require("to", "minutes", hint: "write {\"to\": \"general\", \"minutes\": 10}")
            let minutes = reader.integer("minutes", in: 1...7 * 24 * 60)
            guard let to = reader.text("to"), let minutes else { return nil }
            named.append(to)
            if to.text == id {
                reader.report(to, "is the queue itself", hint: "name another queue")
            }
            return .init(queue: to.text, time: .seconds(60 * minutes))
        }
        return queue
    }

    private static func readRule(_ reader: inout ObjectReader, _ named: inout [Setting]) -> QueueRule? {
        var rule = QueueRule()
        let queue = reader.text("queue")
        rule.queue = queue?.text
        if let queue { named.append(queue) }
        let isHandlers = reader.flag("handler") ?? false
        if isHandlers == (queue != nil) {
            reader.problem(
                "needs either \"queue\" or \"handler\": true",
                hint: "name the queue, or let the handler's answer name it")
        }
        rule.intent = reader.text("intent")?.text
        rule.group = reader.text("group")?.text
        rule.words = reader.texts("words")?.map(\.text) ?? []
        rule.locale = reader.text("locale")?.text
        rule.lastPersonDays = reader.integer("lastPersonDays", in: 1...3650)
        return rule
    }
}
