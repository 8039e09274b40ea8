import BalloonJSON
package import BalloonPOSIX
import BusinessMessages
package import MessageStore

/// The facts of one conversation that the rules of the queues look at.
package struct RoutingFacts: Sendable {
    /// The intent and the group of the link that opened the conversation, and the customer's locale.
    package var intent: String?
    /// The group of the link.
    package var group: String?
    /// The customer's locale, such as `fr_FR`.
    package var locale: String?
    /// The customer's last messages, of which rules search the first 4,000 bytes each.
    package var texts: [String] = []
    /// The person who answered last, and when.
    package var lastPerson: (id: String, at: Timestamp)?
    /// The queue and the priority that the handler named.
    package var wish: Placement?

    /// The number of the customer's last messages that rules search for words.
    static let maximumTexts = 5
    static let maximumTextBytes = 4000

    /// Facts of a conversation about which nothing is known.
    package init() {}

    /// The facts that the last lines show: those of the conversation that began last, and the customer's locale.
    init(_ lines: [ConversationLine], of business: BusinessID, silence: Duration, wish: Placement?) {
        self.wish = wish
        func isMessage(_ line: ConversationLine) -> Bool { line.direction == .inbound && !line.isFilesOnly }
        func first(_ name: String, _ lines: some Sequence<ConversationLine>) -> String? {
            lines.lazy.compactMap { $0.message[name]?.string }.first
        }
        let inbound = lines.sinceBeginning(of: business, silence: silence).reversed().filter(isMessage)
        (intent, group) = (first("intent", inbound), first("group", inbound))
        locale = first("locale", lines.reversed().filter(isMessage))
        texts = inbound.lazy.filter { $0.kind == .text }.compactMap { $0.message["body"]?.string }
            // A tapback quotes the business's own message.
            .filter { Tapback(prose: $0) == nil }.prefix(Self.maximumTexts).map { String($0) }
    }
}

extension PeopleConfiguration {
    /// The queue with this identifier; an unknown one, and nil, mean the first one; nil without queues.
    package func queue(_ id: String?) -> QueueConfiguration? {
        queues.first { $0.id == id } ?? queues.first
    }

    /// The queue of an assignment; nil without queues, and for a conversation that nobody has and that does not wait.
    func queue(of assignment: Assignment) -> QueueConfiguration? {
        assignment.isAssigned ? queue(assignment.placement?.queue) : nil
    }

    /// Whether the customer has waited longer than the target of the queue for an answer of a person.
    func isOverdue(_ assignment: Assignment, at now: Timestamp) -> Bool {
        guard let unanswered = assignment.unanswered, let queue = queue(of: assignment),
            let target = unanswered.isFirst ? queue.firstAnswerTime : queue.answerTime
        else { return false }
        return openingTime(of: queue).isOver(target, since: unanswered.since, at: now)
    }

    /// Chooses the queue of a conversation: the first rule that matches, then the handler's word, then the first queue.
    ///
    /// The result's `rule` says which one decided.
    package func route(_ facts: RoutingFacts, at now: Timestamp) -> Placement {
        let wished = queues.first { $0.id == facts.wish?.queue }
        let hasWords = rules.contains { !$0.words.isEmpty }
        let texts = CustomerPhrase.Texts(
            hasWords ? facts.texts.map { $0.cut(toBytes: RoutingFacts.maximumTextBytes) } : [])
        // A rule is copied only when its cheap conditions match: most of many rules do not.
        for index in rules.indices where rules[index].mayMatch(facts) {
            let rule = rules[index]
            guard let queue = rule.queue == nil ? wished : queue(rule.queue), queue.speaks(facts.locale),
                let reasons = rule.matches(facts, texts, for: queue, at: now)
            else { continue }
            let words = (rule.queue == nil ? ["the handler"] : []) + reasons
            return Placement(
                queue: queue.id, priority: facts.wish?.priority,
                person: rule.lastPersonDays == nil ? nil : facts.lastPerson?.id,
                rule: "\(index + 1): " + words.joined(separator: ", "))
        }
        if let wished, wished.speaks(facts.locale) {
            return Placement(queue: wished.id, priority: facts.wish?.priority, rule: "the handler")
        }
        return Placement(queue: queues.first?.id, priority: facts.wish?.priority, rule: "default")
    }

    /// The priority with which a person gets a waiting conversation next; nil for one that the person does not get.
    ///
    /// `queue` limits the choice to one queue, and a nil person means nobody in particular.
    func priority(
        of waiting: Assignment, for person: Person?, in queue: String? = nil, held: [String?: Int] = [:],
        at now: Timestamp = .now()
    ) -> Int? {
        let offered = waiting.offer?.person(at: now)
        if let person, let offered, offered.id != person.id { return nil }
        guard let own = self.queue(of: waiting) else { return queue == nil ? 0 : nil }
        if let queue, own.id != queue { return nil }
        if let person, offered == nil {
            // Until the rules have chosen its queue, a conversation is in the first one only for lists.
            guard waiting.placement?.rule != nil, own.accepts(person, held: held) else { return nil }
        }
        return waiting.placement?.priority ?? own.priority
    }
}

extension QueueConfiguration {
    /// Whether a person is in the queue and has room for one of its conversations.
    func accepts(_ person: Person, held: [String?: Int]) -> Bool {
        persons?.contains(person.id) ?? true && held[id, default: 0] < capacity ?? .max
    }
}

extension QueueRule {
    /// Whether the intent and the group match.
    fileprivate func mayMatch(_ facts: RoutingFacts) -> Bool {
        (intent == nil || intent == facts.intent) && (group == nil || group == facts.group)
    }

    /// The conditions in words, when the intent and the group match; nil when another condition does not.
    ///
    /// `texts` are the customer's messages in the form in which they are searched.
    fileprivate func matches(
        _ facts: RoutingFacts, _ texts: CustomerPhrase.Texts, for queue: QueueConfiguration, at now: Timestamp
    ) -> [String]? {
        var reasons: [String] = []
        if let intent { reasons.append("intent \(intent)") }
        if let group { reasons.append("group \(group)") }
        if let locale {
            guard let found = facts.locale, isLocale(found, in: locale) else { return nil }
            reasons.append("locale \(locale)")
        }
        if !words.isEmpty {
            guard let index = phrases.firstIndex(where: { texts.hold($0) }) else { return nil }
            reasons.append("word \(words[index])")
        }
        if let lastPersonDays {
            guard let last = facts.lastPerson, last.at.advanced(by: .seconds(86_400 * lastPersonDays)) >= now,
                queue.persons?.contains(last.id) ?? true
            else { return nil }
            reasons.append("last person \(last.id)")
        }
        return reasons
    }
}
