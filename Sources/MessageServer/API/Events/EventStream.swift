import BalloonHTTP
import MessageStore

/// One follower's stream: what it missed, and then the broadcast of its filter.
struct EventStream: Sendable {
    private let hub: EventHub
    private let filter: EventFilter
    private let channel: EventHub.Channel
    private let cursor: EventCursor

    init(_ hub: EventHub, _ filter: EventFilter, _ cursor: EventCursor) throws(APIProblem) {
        self.hub = hub
        self.filter = filter
        self.cursor = cursor
        channel = try hub.channel(for: filter)
    }

    /// Starts the answer.
    func start(_ responder: APIResponder) {
        let writer = responder.stream(
            contentType: "text/event-stream", isOpenEnded: true,
            fields: [("X-Accel-Buffering", "no")])
        Task {
            defer { channel.arrived() }
            do { try await follow(writer) } catch {
                // The client disconnected, or the journal cannot be read: the client resumes.
                responder.abort()
            }
        }
    }

    private func follow(_ writer: HTTPBodyWriter) async throws {
        var cursor = cursor
        try await writer.write(EventText.head)
        while !channel.hasEnded {
            let part = try await cursor.next(of: hub) { events in
                if events.isEmpty { try await writer.write([]) }
                try await write(events, to: writer)
                return !channel.hasEnded
            } arrive: { [channel] in
                writer.subscribe(to: channel.broadcast)
            }
            switch part {
            case .events(let events): try await write(events, to: writer)
            case .reset: try await writer.write(EventText.reset(cursor.through ?? 0))
            case .end: return
            }
        }
        writer.finish()
    }

    private func write(_ events: [PlacedEvent], to writer: HTTPBodyWriter) async throws {
        let slugs = filter.slugs(hub.access)
        var text: [UInt8] = []
        for placed in events where filter.wants(placed.event) {
            guard let slug = slugs[placed.event.business] else { continue }
            EventText.append(placed, business: slug, to: &text)
            guard text.count >= HTTPBroadcast.maximumUntakenBytes else { continue }
            try await writer.write(text)
            text = []
        }
        if !text.isEmpty { try await writer.write(text) }
    }
}
