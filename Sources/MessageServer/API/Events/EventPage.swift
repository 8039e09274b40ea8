import BalloonHTTP
import BalloonJSON
import BusinessMessages
import MessageStore

/// The events behind a place as one answer, which waits for the first of them.
struct EventPage: Sendable {
    let hub: EventHub
    let filter: EventFilter
    let wait: Duration

    /// Starts the answer.
    func start(_ cursor: EventCursor, _ responder: APIResponder) {
        Task {
            do { responder.respond(try await answer(cursor)) } catch {
                responder.respond(
                    error as? APIProblem ?? APIProblem(.unavailable, "the journal cannot be read"))
            }
        }
    }

    private func answer(_ start: EventCursor) async throws -> APIAnswer {
        guard let (id, wakeups) = hub.beginWaiting() else {
            throw APIProblem(.unavailable, "too many pages wait for events").field("Retry-After", "1")
        }
        // Also ends the wait, so that its stream of wakeups ends.
        let timer = Task { [hub, wait] in
            // Cancelled when the page is complete.
            try? await Task.sleep(for: wait)
            hub.endWaiting(id)
        }
        defer { timer.cancel() }
        var waiter = wakeups.makeAsyncIterator()
        var page = Page(filter: filter, slugs: filter.slugs(hub.access))
        var cursor = start
        while !page.isFull {
            let part = try await cursor.next(of: hub) { events in
                page.add(events)
                return !page.isFull
            } arrive: {
            }
            switch part {
            case .events(let events): page.add(events)
            case .reset: page.reset()
            case .end:
                page.place = max(page.place, cursor.through ?? 0)
                guard page.isEmpty, await waiter.next() != nil else { return page.answer }
            }
        }
        return page.answer
    }
}

/// The events of a page so far.
private struct Page {
    let filter: EventFilter
    let slugs: [BusinessID: String]
    private var entries: [[UInt8]] = []
    private var bytes = 0
    /// The place behind the last event.
    var place: UInt64 = 0

    init(filter: EventFilter, slugs: [BusinessID: String]) {
        self.filter = filter
        self.slugs = slugs
    }

    var isEmpty: Bool { entries.isEmpty }
    var isFull: Bool { entries.count >= EventRoutes.maximumPage || bytes > EventRoutes.maximumPageBytes }

    /// Adds wanted events until the page is full.
    mutating func add(_ events: [PlacedEvent]) {
        for placed in events {
            if isFull { return }
            place = placed.through
            guard filter.wants(placed.event), let slug = slugs[placed.event.business] else { continue }
            append(EventText.pageEntry(placed, business: slug))
        }
    }

    mutating func reset() {
        append(JSONWriter.object { $0.field("type", EventText.resetName) })
    }

    private mutating func append(_ entry: [UInt8]) {
        bytes += entry.count
        entries.append(entry)
    }

    /// `{"events":[…],"after":"57"}`.
    var answer: APIAnswer {
        APIAnswer { writer in
            writer.key("events")
            writer.array { writer in for entry in entries { writer.raw(entry) } }
            writer.field("after", "\(place)")
        }
    }
}
