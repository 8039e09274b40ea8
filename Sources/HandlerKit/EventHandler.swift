/// A handler that takes events of every kind through one method: one that stands for code elsewhere.
///
/// Code of one's own conforms to the protocol of each kind instead; a type that does both is only asked here.
public protocol EventHandler: Handler {
    /// What it wants to be told of now; it may learn that, and change it, while it runs.
    var subscriptions: Set<Subscription> { get }

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

    /// Since when it takes no events, or answers none; nil while it does.
    var downSince: ContinuousClock.Instant? { get }

    /// How it is, for an operator.
    var report: HandlerReport { get async }

    /// Begins anew, for an operator; what it has under way comes again.
    func restart() async
}

/// How a handler that stands for code elsewhere is.
public struct HandlerReport: Sendable {
    /// How it is.
    public let health: HandlerHealth
    /// How often it was started again.
    public let restarts: Int
    /// Its process, if it has one.
    public let processID: Int32?
    /// How many lines of its standard output were no messages, over all of its lives.
    public let noiseLines: Int
    /// The latest lines that it logged, the oldest first.
    public let log: [String]

    /// Takes everything.
    public init(
        health: HandlerHealth, restarts: Int = 0, processID: Int32? = nil, noiseLines: Int = 0,
        log: [String] = []
    ) {
        self.health = health
        self.restarts = restarts
        self.processID = processID
        self.noiseLines = noiseLines
        self.log = log
    }
}

/// An error whose reason may stand in a log: it holds no word of a customer's.
public protocol LoggableError: Error {
    /// What happened, as a phrase.
    var reason: String { get }
}
