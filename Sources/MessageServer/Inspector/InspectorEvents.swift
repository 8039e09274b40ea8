import BalloonHTTP
import BalloonJSON
import BalloonPOSIX
import BalloonWire
package import BusinessMessages
import Synchronization

/// The events of the inspector's page, the newest 10,000: stages, new lines of a phone, typing, answers of the gateway.
///
/// It is an observer of stages, and asks for the customer, the bytes and the status of each.
package final class InspectorEvents: StageObserver {
    /// One event.
    struct Event: Sendable {
        /// The number, from 1 without gaps.
        let number: Int
        /// The name in the stream.
        let name: String
        /// One JSON object.
        let data: [UInt8]
        /// The delivery and the message of a stage; nil for other events.
        var delivery: UInt64?
        var message: MessageID?
    }

    private struct State {
        var events = Deque<Event>()
        var bytes = 0
        var last = 0
        var isStopped = false
        var follow: (@Sendable (StageEvent) -> Void)?
    }

    private static let maximumEvents = 10_000
    private static let maximumBytes = 16 << 20
    static let heartbeat = Duration.seconds(15)

    private let state = Mutex(State())
    private let waiters = ChangeWaiters()
    /// A random part of every event's id; an id in `Last-Event-ID` without it is from another process.
    private let process = Hex.encode(randomBytes(4))
    private let next: (any StageObserver)?

    /// Creates a recorder that passes each stage to another observer.
    package init(passingTo next: (any StageObserver)? = nil) { self.next = next }

    package var wantsDetails: Bool { true }

    package func observe(_ event: StageEvent) {
        next?.observe(event)
        let at = Timestamp.now()
        add("stage", event) { number in event.json(number: number, at: at) }
        state.withLock { $0.follow }?(event)
    }

    /// Calls `follow` for each later stage.
    package func whenStageEnds(_ follow: @escaping @Sendable (StageEvent) -> Void) {
        state.withLock { $0.follow = follow }
    }

    /// Adds an event and wakes all waiters.
    package func add(_ name: String, _ data: (inout JSONWriter) -> Void) {
        add(name, nil) { _ in JSONWriter.object(data) }
    }

    private func add(_ name: String, _ stage: StageEvent?, _ data: (Int) -> [UInt8]) {
        state.withLock { state in
            state.last += 1
            let event = Event(
                number: state.last, name: name, data: data(state.last), delivery: stage?.delivery,
                message: stage?.message)
            state.events.append(event)
            state.bytes += event.data.count
            while state.events.count > Self.maximumEvents || state.bytes > Self.maximumBytes,
                let oldest = state.events.popFirst()
            {
                state.bytes -= oldest.data.count
            }
        }
        waiters.wakeAll()
    }

    /// Removes all events, and sends the event `reset` to all streams.
    package func reset() {
        state.withLock { state in
            state.events = Deque()
            state.bytes = 0
        }
        add("reset") { _ in }
    }

    /// Ends all waits and streams.
    func stop() {
        state.withLock { $0.isStopped = true }
        waiters.wakeAll()
    }

    /// The number of the newest event.
    package var last: Int { state.withLock { $0.last } }

    /// Whether the inspector stops.
    package var isStopped: Bool { state.withLock { $0.isStopped } }

    /// Returns the kept stages of a delivery, each a JSON object.
    ///
    /// Stages of the webhook have no delivery, so they are found by the message.
    package func stages(of delivery: UInt64, _ message: MessageID) -> [[UInt8]] {
        state.withLock { state in
            state.events.filter { event in
                event.delivery.map { $0 == delivery } ?? (event.message == message)
            }.map(\.data)
        }
    }

    /// Waits until there is an event after `number`, at most for `duration`.
    package func wait(after number: Int, within duration: Duration) async {
        guard duration > .zero else { return }
        _ = await withTimeLimit(duration) { [self] in
            await waiters.wait { [self] in state.withLock { $0.isStopped || $0.last > number } }
        }
    }

    /// The route of the stream.
    var routes: [InspectorRoute] {
        [
            InspectorRoute(
                .get, "/dev/v1/events", "Follow the stages and the other events", answer: .text,
                mediaType: "text/event-stream"
            ) { request in
                let after = self.place(request.field("last-event-id"))
                let head = HTTPStreamHead(
                    .ok, contentType: "text/event-stream", isOpenEnded: true,
                    fields: Inspector.fields + [("X-Accel-Buffering", "no")])
                return .stream(head) { writer in try await self.follow(after: after, writer) }
            }
        ]
    }

    /// Returns the number in `Last-Event-ID`: 0 without the field, and nil when the id is of another process
    /// or unknown.
    private func place(_ id: String?) -> Int? {
        guard let id else { return 0 }
        let parts = id.split(separator: "-")
        guard parts.count == 2, parts[0] == process, let number = Int(parts[1]), (0...last).contains(number)
        else { return nil }
        return number
    }

    /// Writes the events after the number `start` until the client disconnects; with nil it begins with
    /// `reset`.
    private func follow(after start: Int?, _ writer: HTTPBodyWriter) async throws {
        var place = start ?? 0
        try await writer.write(Array("retry: 2000\n\n".utf8))
        if start == nil {
            try await writer.write(text(of: Event(number: 0, name: "reset", data: [123, 125])))
        }
        while true {
            let (events, isStopped, isLost) = state.withLock { state in
                let missed = state.events.first.map { $0.number > place + 1 } ?? false
                let count = state.events.count - max(0, place - (state.last - state.events.count))
                let wanted = state.events[max(0, state.events.count - count)...].prefix(256)
                return (Array(wanted), state.isStopped, missed && place > 0)
            }
            if isStopped { return }
            // The client was too slow: events were removed before it got them.
            if isLost {
                try await writer.write(text(of: Event(number: place, name: "reset", data: [123, 125])))
            }
            guard let newest = events.last else {
                let before = last
                await wait(after: place, within: Self.heartbeat)
                if last == before { try await writer.write(Array(": \n\n".utf8)) }
                continue
            }
            try await writer.write(events.flatMap { text(of: $0) })
            place = newest.number
        }
    }

    private func text(of event: Event) -> [UInt8] {
        EventText.text(id: event.number > 0 ? "\(process)-\(event.number)" : nil, event.name, event.data)
    }
}

extension StageEvent {
    /// The event as the page gets it.
    fileprivate func json(number: Int, at: Timestamp) -> [UInt8] {
        JSONWriter.object(reservingCapacity: 384) { writer in
            writer.fields(["n": number, "at": at.rfc3339, "stage": stage.rawValue])
            let facts = ResultFacts(result)
            writer.fields([
                "result": StageMetrics.ResultLabel(result).name, "reason": facts.reason ?? facts.how,
                "ms": Double(nanoseconds / 1000) / 1000, "business": business?.rawValue,
                "customer": customer?.rawValue, "kind": kind?.rawValue, "delivery": delivery.map { Int($0) },
                "message": message?.rawValue, "reference": reference, "attempt": attempt, "bytes": bytes,
                "status": status ?? facts.status, "payment": payment,
            ])
        }
    }
}
