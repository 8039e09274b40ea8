import BalloonPOSIX
import BusinessMessages
import MessageStore
import Synchronization

/// Decides to whom waiting conversations of one business are offered; a value without effects.
struct Offering {
    let people: PeopleConfiguration
    /// The persons who are available.
    let available: [Person]
    /// The number of conversations of each person by queue, with the one that is offered.
    private var held: [String: [String?: Int]] = [:]
    /// The persons who have an open offer; they get no second one.
    private var offered: Set<String> = []
    let now: Timestamp

    /// Counts the load of the persons in the assigned conversations of the business.
    init(_ people: PeopleConfiguration, available: [Person], _ assigned: [Assignment], at now: Timestamp) {
        (self.people, self.available, self.now) = (people, available, now)
        for assignment in assigned {
            let queue = people.queue(of: assignment)?.id
            if let person = assignment.person { held[person.id, default: [:]][queue, default: 0] += 1 }
            if let person = assignment.offer?.person(at: now) { count(person, queue) }
        }
    }

    private mutating func count(_ person: Person, _ queue: String?) {
        offered.insert(person.id)
        held[person.id, default: [:]][queue, default: 0] += 1
    }

    /// The offer that is due for a waiting conversation: to the person who answered before, else to the least busy one.
    ///
    /// Every person gets one offer of a conversation while it is in a queue. Must be called in the order in which
    /// conversations are answered, because the offer counts for the next ones.
    mutating func next(for waiting: Assignment) -> Offer? {
        guard waiting.state == .waiting, waiting.placement?.rule != nil,
            let queue = people.queue(of: waiting), let time = queue.acceptTime,
            waiting.offer?.person(at: now) == nil
        else { return nil }
        let asked = waiting.offer?.asked ?? []
        let opening = people.openingTime(of: queue)
        guard asked.count < Offer.maximumAsked, opening.isOpen(at: now),
            let end = opening.end(of: time, since: now)
        else { return nil }
        let (held, offered) = (held, offered)
        let candidates = available.filter {
            !asked.contains($0.id) && !offered.contains($0.id)
                && queue.accepts($0, held: held[$0.id] ?? [:])
        }
        let load = { (person: Person) in held[person.id]?.values.reduce(0, +) ?? 0 }
        let chosen =
            candidates.first { $0.id == waiting.placement?.person }
            ?? candidates.min { (load($0), $0.id) < (load($1), $1.id) }
        guard let chosen else { return nil }
        count(chosen, queue.id)
        return Offer(to: chosen, until: end, after: asked)
    }
}

/// Whether each person is available, as the person's programs report it; a restart forgets it.
///
/// A report counts for ``lifetime``. Only tokens with a person report, so the number of entries is bounded.
final class Availability: Sendable {
    enum State: String, Sendable, CaseIterable {
        /// The person gets offers.
        case available
        /// The person works, but gets no offers.
        case away
        /// The person does not work.
        case gone
    }

    struct Entry: Sendable {
        let person: Person
        var state: State
        /// When the person chose the state.
        var chosenAt: Timestamp
        /// The latest report.
        var seenAt: Timestamp
        /// The conversation at which the person looks, by the name of its file.
        var conversation: String?
    }

    /// How long a report counts.
    static let lifetime = Duration.seconds(90)

    private let entries = Mutex<[BusinessID: [String: Entry]]>([:])

    /// Records a report; without a state it only says that the person is still there, and at which conversation the person
    /// looks.
    ///
    /// Returns the person's state.
    func report(
        _ person: Person, _ state: State?, lookingAt conversation: String? = nil, in business: BusinessID,
        at now: Timestamp = .now()
    ) -> State {
        entries.withLock { entries in
            let known = entries[business]?[person.id].flatMap { Self.isCurrent($0, now) ? $0 : nil }
            var entry = known ?? Entry(person: person, state: .gone, chosenAt: now, seenAt: now)
            if let state { (entry.state, entry.chosenAt) = (state, now) }
            (entry.seenAt, entry.conversation) = (now, conversation)
            let isForgotten = entry.state == .gone && conversation == nil
            entries[business, default: [:]][person.id] = isForgotten ? nil : entry
            return entry.state
        }
    }

    /// Makes a person away who missed an offer, unless the person chose a state after its end.
    func missed(_ person: Person, until: Timestamp, in business: BusinessID) {
        entries.withLock { entries in
            guard let entry = entries[business]?[person.id], entry.state == .available, entry.chosenAt < until
            else { return }
            entries[business]?[person.id]?.state = .away
        }
    }

    /// The persons of a business who are not gone or look at a conversation, by their identifiers.
    func persons(of business: BusinessID, at now: Timestamp = .now()) -> [Entry] {
        entries.withLock { $0[business] ?? [:] }.values.filter { Self.isCurrent($0, now) }
            .sorted { $0.person.id < $1.person.id }
    }

    private static func isCurrent(_ entry: Entry, _ now: Timestamp) -> Bool {
        entry.seenAt.advanced(by: lifetime) > now
    }
}
