import BalloonHTTP
import BalloonJSON
import MessageStore

/// Answers with the events behind a place as one JSON object; waits for an event when there is none yet.
struct EventPage: Sendable {
    let hub: EventHub
    let filter: EventFilter
    let wait: Duration

    /// The time that reading may take even if `wait` is shorter; then the page is sent, even if it is not
    /// full.
    private static let readingTime = Duration.seconds(10)
    /// The maximum number of parts that a page reads; a wait for events resets the count.
    private static let maximumParts = 256

    /// Returns the answer; waits for the first event when there is none yet.
    func answer(_ start: EventCursor) async throws -> APIAnswer {
        let waiter = try hub.beginPage(of: filter.token)
        defer { hub.end(waiter) }
        let timer = Task { [wait] in
            // Cancelled when the page is complete.
            if (try? await Task.sleep(for: wait)) != nil { waiter.end() }
        }
        defer { timer.cancel() }
        let deadline = ContinuousClock.now + max(wait, Self.readingTime)
        var wakeups = waiter.wakeups.makeAsyncIterator()
        var page = Page(in: hub.numbers(for: filter), place: start.through ?? 0)
        var cursor = start
        var parts = 0
        reading: while !page.isFull, parts < Self.maximumParts, hub.access.isCurrent(filter.token) {
            let rest = ContinuousClock.now.duration(to: deadline)
            guard rest > .zero else { break }
            parts += 1
            switch try await cursor.next(of: hub, filter, patience: rest, arrive: {}) {
            case .events(let events):
                page.add(events) { hub.slug(of: $0, for: filter) }
                if !page.isFull { page.place = cursor.through ?? 0 }
            case .waiting: break reading
            case .reset: page.reset(to: cursor.through ?? 0)
            case .end:
                page.place = cursor.through ?? 0
                guard page.isEmpty, await wakeups.next() != nil else { break reading }
                parts = 0
            }
        }
        // The token is no longer valid, so its page must not be sent.
        guard hub.access.isCurrent(filter.token) else {
            throw APIProblem(.unauthenticated, "the token was removed or changed")
        }
        var answer = page.answer
        // The place did not advance, because an event of the next record still waits for its line. The next
        // page will have these events again, so the client should wait a second.
        if !page.isEmpty, page.place == start.through { answer.fields.append(("Retry-After", "1")) }
        return answer
    }
}

/// The events of a page so far.
private struct Page {
    private var entries: [[UInt8]] = []
    private var bytes = 0
    /// The place behind the last event.
    var place: UInt64

    private let numbers: RecordNumbers

    init(in numbers: RecordNumbers, place: UInt64) {
        self.numbers = numbers
        self.place = place
    }

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= EventRoutes.maximumPage || bytes > EventRoutes.maximumPageBytes }

    /// Adds wanted events until the page is full; `slug` returns nil for an unwanted event.
    mutating func add(_ events: [PlacedEvent], slug: (StoreEvent) -> String?) {
        for placed in events {
            if isFull { return }
            place = placed.through
            if let slug = slug(placed.event) {
                let id = EventID.text(placed.through, in: numbers)
                append(EventText.data(placed.event, id: id, in: numbers, business: slug))
            }
        }
    }

    mutating func reset(to place: UInt64) {
        self.place = place
        append(EventText.resetData)
    }

    private mutating func append(_ entry: [UInt8]) {
        bytes += entry.count
        entries.append(entry)
    }

    /// The answer, such as `{"events":[…],"after":"0f3a….57"}`.
    var answer: APIAnswer {
        APIAnswer { writer in
            writer.list("events", entries) { $1.raw($0) }
            writer.field("after", EventID.text(place, in: numbers))
        }
    }
}
