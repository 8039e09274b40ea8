import BalloonPOSIX
import BusinessMessages
import HandlerKit
import MessageStore

/// The texts that the server sends about assignments.
extension AssignmentWatch {
    private static let maximumLines = 1000
    /// The number of a conversation's last lines that the rules of the queues look at.
    private static let maximumRoutingLines = 50
    private static let maximumRoutingBytes = 4 << 20

    /// Returns the text for a customer who begins to wait for a person, in the language of the customer's last message; nil
    /// when the business has no `people`.
    ///
    /// `wish` is what the handler named, while the conversation is in no queue.
    func text(
        in name: ConversationID, wish: Placement? = nil, at now: Timestamp = .now()
    ) async throws -> String? {
        guard let people = settings[name.business] else { return nil }
        // Only then does the queue decide about the text, and the rules need the conversation's lines.
        let hasOwn = people.queues.contains { $0.hours != nil || !$0.texts.isEmpty }
        let placement = hasOwn ? try await route(people, in: name, wish: wish, at: now) : nil
        return try await text(.wait, people, people.queue(placement?.queue), in: name, at: now)
    }

    /// A text for a customer who waits in a queue: while nobody answers it says when somebody does.
    func text(
        _ key: ServerText, _ people: PeopleConfiguration, _ queue: QueueConfiguration?,
        in name: ConversationID,
        at now: Timestamp
    ) async throws -> String {
        let opening = people.openingTime(of: queue)
        var text = people.text(key, in: queue) ?? Localized("")
        if let written = presence.presence(of: name.business, at: now).closedText {
            text = Localized(written)
        } else if !opening.isOpen(at: now), let closed = people.text(.closed, in: queue) {
            text = closed
        }
        let locale = try await locale(for: text, in: name)
        // The language of a text that is not translated for the customer is unknown: date and time are digits then.
        let language = text.languages.isEmpty ? locale : text.language(for: locale) ?? ""
        let words = opening.opensAt(after: now).map {
            OpeningPhrase.words(for: $0, at: now, in: opening.hours?.zone, locale: language)
        }
        return text.text(for: locale).replacing(OpeningPhrase.placeholder, with: words ?? "")
    }

    /// The locale of the customer's last message, if the text depends on it.
    func locale(for text: Localized<String>, in name: ConversationID) async throws -> String? {
        guard !text.languages.isEmpty || text.all.contains(OpeningPhrase.placeholder) else { return nil }
        return try await onDisk { [store] in try store.lastLocale(of: name.business, name.customer) }
    }

    func route(
        _ people: PeopleConfiguration, in name: ConversationID, wish: Placement?, at now: Timestamp
    ) async throws -> Placement {
        let facts = try await onDisk { [store, silence = settings.configuration.silence(of: name.business)] in
            let lines = try store.recentLines(
                of: name.business, name.customer, maximum: Self.maximumRoutingLines,
                maximumBytes: Self.maximumRoutingBytes)
            var facts = RoutingFacts(lines, of: name.business, silence: silence, wish: wish)
            // The person may have answered long before these lines.
            if people.rules.contains(where: { $0.lastPersonDays != nil }),
                let line = try store.lastMessageOfPerson(to: name.customer, of: name.business)
            {
                facts.lastPerson = line.author?.person.map { ($0.id, line.at) }
            }
            return facts
        }
        return people.route(facts, at: now)
    }

    /// Whether an earlier process sent the message.
    ///
    /// The conversation's file is read, because the store may no longer remember the id.
    func wasSaid(
        _ id: MessageID, in name: ConversationID, _ assignment: Assignment
    ) async throws -> Bool {
        guard let since = assignment.since, since < startedAt else { return false }
        return try await onDisk { [store] in
            try store.recentLines(of: name.business, name.customer, maximum: Self.maximumLines)
                .contains { $0.id == id && $0.direction == .outbound }
        }
    }

    /// Returns the id of a text about an assignment; each attempt in every process gets the same id.
    static func id(
        of purpose: String, about record: UInt64, in name: ConversationID, of store: String
    ) -> MessageID {
        let parts = [store, name.business.rawValue, name.customer.rawValue, "\(record)", purpose]
        return MessageID(derivedFrom: parts)
    }

    /// Appends a message to the journal; a message with the same id is there already.
    func append(
        _ reply: Reply, _ id: MessageID, in name: ConversationID, by author: MessageAuthor
    ) async throws {
        try await store.append(ReceivedMessage(DecidedReply(reply, as: id, in: name, by: author), in: name))
    }

    /// The first words of a person in a conversation, with `{name}`; nil when the business has none.
    func opening(in name: ConversationID, _ assignment: Assignment, locale: String?) -> String? {
        guard let people = settings[name.business] else { return nil }
        return people.text(.opening, in: people.queue(of: assignment))?.text(for: locale)
    }

    /// Sends the first words of the person who has the conversation, once for each person until the handler answers again.
    func sayOpening(in name: ConversationID, _ assignment: Assignment) async throws {
        guard let person = assignment.person else { return }
        let locale = try await onDisk { [store] in try store.lastLocale(of: name.business, name.customer) }
        guard let words = opening(in: name, assignment, locale: locale) else { return }
        let id = Self.id(
            of: "opening \(person.id)", about: assignment.began?.record ?? 0, in: name, of: store.identity)
        if try await wasSaid(id, in: name, assignment) { return }
        let text = words.replacing("{name}", with: person.name ?? person.id)
        try await append(.text(text), id, in: name, by: .person(person))
    }
}
