import BusinessMessages
import HandlerKit
import Logging
import Synchronization

/// What answers for one business, and how many of its events may be worked on at once.
final class BusinessHandler: Sendable {
    let business: BusinessID
    /// The name of the business's configuration file.
    let slug: String
    /// Nil when the business only records.
    let handler: (any Handler)?
    let slots: HandlerSlots
    /// How long the handler may take for one delivery.
    let deadline: Duration
    /// Kinds that came and that nobody handles, warned about once each.
    private let unhandled = Mutex<Set<Kind>>([])

    init(business: BusinessID, slug: String, handler: (any Handler)?, concurrency: Int, deadline: Duration) {
        self.business = business
        self.slug = slug
        self.handler = handler
        self.deadline = deadline
        slots = HandlerSlots(label: "balloon.handler.\(slug)", maximumCount: concurrency)
    }

    /// Waits until the handler can take an event; throws `CancellationError` when it never will again.
    func waitUntilReady() async throws {
        guard let handler = handler as? any EventHandler else { return }
        guard await handler.waitUntilReady() else { throw CancellationError() }
        if let maximum = handler.maximumInFlight { slots.limit(to: maximum) }
    }

    /// Starts the handler, if it is one that must be.
    func start() async { await (handler as? any StartingHandler)?.start() }

    /// Lets nobody wait any more.
    func stopWaiting() { (handler as? any EventHandler)?.stopWaiting() }

    /// Ends what ``start()`` began.
    func shutdown() async { await (handler as? any StartingHandler)?.shutdown() }

    /// The handler, if it wants events of `kind`.
    func handler(of kind: Kind) -> (any Handler)? {
        guard let handler, isSubscribed(handler, to: kind) else { return nil }
        return handler
    }

    /// Whether this is the first event of a kind that nobody handles.
    func isFirstUnhandled(_ kind: Kind) -> Bool { unhandled.withLock { $0.insert(kind).inserted } }
}

/// Which handler answers for which business.
struct HandlerRegistry: Sendable {
    private let handlers: [BusinessID: BusinessHandler]

    init(_ handlers: [BusinessHandler]) {
        self.handlers = Dictionary(handlers.map { ($0.business, $0) }) { first, _ in first }
    }

    /// Every business's handler.
    var all: [BusinessHandler] { Array(handlers.values) }

    /// The ids of the businesses that are served.
    var businesses: Set<BusinessID> { Set(handlers.keys) }

    subscript(business: BusinessID) -> BusinessHandler? { handlers[business] }
}
