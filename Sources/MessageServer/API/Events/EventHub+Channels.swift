import BalloonHTTP
import BalloonPOSIX
import HandlerKit
import Logging
import MessageStore
import Synchronization

/// The functions that streams and pages call.
extension EventHub {
    /// Returns the channel of a filter and adds a follower to it; the caller must call ``Channel/run(_:)``
    /// for the follower.
    ///
    /// Throws a problem when the token has too many filters or streams, when it was removed, and when the
    /// server stops.
    func channel(for filter: EventFilter) throws(APIProblem) -> Channel {
        try state.withLock { state throws(APIProblem) in
            guard !state.isClosed, state.isFollowing else {
                throw APIProblem(.unavailable, "the server stops")
            }
            state.usedAt = .now
            let own = state.channels.filter { $0.key.token == filter.token }
            guard own.values.reduce(0, { $0 + $1.followerCount }) < maximumStreams else {
                throw APIProblem(.unavailable, "the token has too many open streams", retryAfter: 15)
            }
            if let channel = own[filter] {
                channel.arriving.add(1, ordering: .relaxed)
                return channel
            }
            guard own.count < Self.maximumChannels else {
                throw APIProblem(.unavailable, "the token follows too many different filters", retryAfter: 15)
            }
            try checkCurrent(filter.token)
            let channel = Channel()
            channel.arriving.add(1, ordering: .relaxed)
            state.channels[filter] = channel
            return channel
        }
    }

    /// Refuses a token that a reload removed or changed.
    ///
    /// It is called under the lock of the state: a reload replaces the tokens before ``endRemoved()`` acquires
    /// this lock.
    private func checkCurrent(_ token: APIToken) throws(APIProblem) {
        guard access.isCurrent(token) else { throw APIProblem(.unauthenticated, "the token was removed") }
    }

    /// Ends the streams and pages of tokens that a reload removed or changed.
    func endRemoved() {
        let (channels, pages) = state.withLock { state in
            let ended = state.channels.filter { !access.isCurrent($0.key.token) }
            for filter in ended.keys { state.channels[filter] = nil }
            return (ended.values, state.pages.values.filter { !access.isCurrent($0.token) })
        }
        for channel in channels { channel.end() }
        for page in pages { page.end() }
    }

    /// Reads or changes the state under its lock; `body` must be short.
    func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0) }
    }

    /// The record numbers as the token of a filter sees them.
    func numbers(for filter: EventFilter) -> RecordNumbers { numbers.seen(by: filter.token) }

    /// The slug of an event's business, if the event has a wanted type and the token may see it.
    func slug(of event: StoreEvent, for filter: EventFilter) -> String? {
        access.slugs[event.business].flatMap { filter.accepts(event.name.rawValue, of: $0) ? $0 : nil }
    }

    /// The text of the events that a filter accepts.
    func text(of events: [PlacedEvent], for filter: EventFilter) -> [UInt8] {
        events.flatMap { placed in
            slug(of: placed.event, for: filter).map {
                EventText.text(of: placed, in: numbers(for: filter), business: $0)
            } ?? []
        }
    }

    /// Sends an event that is not kept and has no place; only followers at the end of the ring get it.
    func send(_ event: TransientEvent) {
        guard let slug = access.slugs[event.business] else { return }
        let text = EventText.transient(event, business: slug)
        state.withLock { state in
            for (filter, channel) in state.channels where filter.accepts(event.name.rawValue, of: slug) {
                if channel.broadcast.subscriberCount > 0 { channel.broadcast.send(text) }
            }
        }
    }

    /// Registers a page, which the caller must end with ``end(_:)``.
    ///
    /// Throws a problem when the token has too many pages, when the token was removed, and when the server
    /// stops.
    func beginPage(of token: APIToken) throws(APIProblem) -> Page {
        try state.withLock { state throws(APIProblem) in
            guard !state.isClosed else { throw APIProblem(.unavailable, "the server is stopping") }
            guard state.pages.values.count(where: { $0.token.name == token.name }) < Self.maximumPages else {
                throw APIProblem(.unavailable, "too many pages of the token wait for events", retryAfter: 1)
            }
            try checkCurrent(token)
            state.lastPage += 1
            let page = Page(state.lastPage, of: token)
            state.pages[page.id] = page
            return page
        }
    }

    /// Removes a page after it is answered.
    func end(_ page: Page) { state.withLock { $0.pages[page.id] = nil } }
}
