import BalloonHTTP
import MessageStore

/// One follower's stream: the events that it missed, and then the broadcast of its filter.
struct EventStream: Sendable {
    private let hub: EventHub
    private let filter: EventFilter
    private let channel: EventHub.Channel
    private let cursor: EventCursor

    init(_ hub: EventHub, _ filter: EventFilter, _ cursor: EventCursor) throws(APIProblem) {
        self.hub = hub
        self.filter = filter
        var cursor = cursor
        try cursor.begin(of: hub, filter)
        self.cursor = cursor
        channel = try hub.channel(for: filter)
    }

    /// Starts a task that streams the answer.
    func start(_ responder: APIResponder) {
        let writer = responder.stream(
            contentType: "text/event-stream", isOpenEnded: true,
            fields: [("X-Accel-Buffering", "no")])
        channel.run {
            do { try await follow(writer) } catch {
                // The channel ends when the token is removed or the server stops. Otherwise the client has
                // disconnected or the journal cannot be read, so close the connection: the client resumes.
                if channel.hasEnded { writer.finish() } else { responder.abort() }
            }
        }
    }

    private func follow(_ writer: HTTPBodyWriter) async throws {
        var cursor = cursor
        try await writer.write(EventText.head)
        var told = cursor.through
        while !channel.hasEnded {
            let part = try await cursor.next(of: hub, filter, patience: EventHub.heartbeat) { [channel] in
                writer.subscribe(to: channel.broadcast)
            }
            if case .end = part { return }
            if channel.hasEnded { break }
            switch part {
            case .events(let events):
                var text = hub.text(of: events, for: filter)
                // Without wanted events, a comment tells the client the new place and keeps its connection open.
                if text.isEmpty, let place = cursor.through, place != told {
                    text = EventText.comment(place, in: hub.numbers(for: filter))
                }
                guard !text.isEmpty else { continue }
                try await writer.write(text)
                told = cursor.through
            case .waiting:
                try await writer.write(EventText.comment(cursor.through ?? 0, in: hub.numbers(for: filter)))
            case .reset:
                try await writer.write(EventText.reset(cursor.through ?? 0, in: hub.numbers(for: filter)))
            case .end: return
            }
        }
        writer.finish()
    }
}
