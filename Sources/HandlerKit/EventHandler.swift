public import BusinessMessages

/// A handler that takes events of every kind through one method: one that stands for code elsewhere.
///
/// Code of one's own conforms to the protocol of each kind instead; a type that does both is only asked here.
public protocol EventHandler: Handler {
    /// The kinds that it wants now; it may learn them, and change them, while it runs.
    var subscribedKinds: Set<Kind> { get }

    /// How many events it takes at once; nil for as many as the server likes.
    var maximumInFlight: Int? { get }

    /// Waits until it can take an event; false when it never will again, or the task is cancelled.
    ///
    /// Events wait meanwhile, in order, and no attempt is counted.
    func waitUntilReady() async -> Bool

    /// Makes ``waitUntilReady()`` answer false from now on, because the server stops.
    func stopWaiting()

    /// Answers an event.
    func handle(_ context: Context) async throws -> Outcome
}

/// A handler that needs to be started before its first event, and stopped after its last.
public protocol StartingHandler: Handler {
    /// Begins; must not wait for anything slow, and must not fail because something else is down.
    func start() async

    /// Ends what ``start()`` began; the server waits for it.
    func shutdown() async
}

/// An error whose reason may stand in a log: it holds no word of a customer's.
public protocol LoggableError: Error {
    /// What happened, as a phrase.
    var reason: String { get }
}
