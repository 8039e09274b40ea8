public import BusinessMessages

/// A handler that receives events of every kind through one method; it stands for code outside the process.
///
/// Handlers inside the process conform to the protocol of each kind instead. If a type conforms to both, only
/// this protocol is used.
public protocol EventHandler: Handler {
    /// The current subscriptions, which may change while the handler runs.
    var subscriptions: Set<Subscription> { get }

    /// The maximum number of concurrent events; nil leaves the limit to the server.
    var maximumInFlight: Int? { get }

    /// Waits until the handler can receive an event.
    ///
    /// Returns false when the handler will never be ready again, or when the task is cancelled. While this
    /// method waits, events wait in order, and no attempt is counted.
    func waitUntilReady() async -> Bool

    /// Makes all current and later calls of ``waitUntilReady()`` return false, because the server is
    /// stopping.
    func stopWaiting()

    /// Answers an event.
    func handle(_ context: Context) async throws -> Outcome

    /// The payment callbacks that the handler answers; nil until the handler has reported them.
    var payments: Set<PaymentCallback.Kind>? { get }

    /// Answers a payment callback; the server does not retry it.
    func payment(_ context: PaymentContext) async throws -> PaymentAnswer

    /// Returns the money of a payment attempt to the customer; if it throws, the server calls it again.
    func reversal(_ reversal: PaymentReversal) async throws

    /// The time since which the handler has been unable to receive or answer events; nil while it works.
    var downSince: ContinuousClock.Instant? { get }

    /// The handler's status, for an operator.
    var report: HandlerReport { get async }

    /// Restarts the handler at an operator's request; events in flight are delivered again.
    func restart() async

    /// Kills the handler's process without a warning, as a crash would end it; returns whether there was a
    /// process.
    ///
    /// The server then restarts the process as after a crash. Developers use this to see what their customers
    /// would see.
    func crash() async -> Bool

    /// Records the reason why an answer was refused, for the handler's author.
    ///
    /// The server has already logged the refusal.
    func recordRefusal(_ refusal: AnswerRefusal, of delivery: DeliveryID)
}

extension EventHandler {
    /// Returns false: the handler has no process.
    public func crash() async -> Bool { false }

    /// An empty set: the handler answers no payments.
    public var payments: Set<PaymentCallback.Kind>? { [] }

    /// Always throws, because ``payments`` is empty.
    public func payment(_ context: PaymentContext) async throws -> PaymentAnswer { throw NoPayments() }

    /// Always throws, because ``payments`` is empty.
    public func reversal(_ reversal: PaymentReversal) async throws { throw NoPayments() }

    /// Records nothing.
    public func recordRefusal(_ refusal: AnswerRefusal, of delivery: DeliveryID) {}
}

private struct NoPayments: LoggableError {
    let reason = "the handler answers no payments"
}

/// The status of a handler outside the process.
public struct HandlerReport: Sendable {
    /// The state of the handler's lifecycle.
    public let health: HandlerHealth
    /// The number of times that the server has restarted the handler.
    public let restarts: Int
    /// The id of the handler's process; nil when it has none.
    public let processID: Int32?
    /// The number of lines on standard output that were not protocol messages, over all processes of the
    /// handler.
    public let noiseLines: Int
    /// The latest log lines, the oldest first.
    public let lines: [HandlerLogLine]
    /// The texts of the latest log lines, the oldest first.
    public var log: [String] { lines.map(\.text) }

    /// Creates a report.
    public init(
        health: HandlerHealth, restarts: Int = 0, processID: Int32? = nil, noiseLines: Int = 0,
        lines: [HandlerLogLine] = []
    ) {
        self.health = health
        self.restarts = restarts
        self.processID = processID
        self.noiseLines = noiseLines
        self.lines = lines
    }
}

/// One line of a handler's log.
public struct HandlerLogLine: Hashable, Sendable {
    /// The number of the line, from 1 without gaps, over all processes of the handler.
    public let number: Int
    /// The time at which the server read the line.
    public let at: ContinuousClock.Instant
    /// The text of the line, which may quote a customer.
    public let text: String

    /// Creates a line.
    public init(number: Int, at: ContinuousClock.Instant, text: String) {
        self.number = number
        self.at = at
        self.text = text
    }
}

/// An error whose reason may be logged, because it contains no customer text.
public protocol LoggableError: Error {
    /// The failure, as a phrase.
    var reason: String { get }
}
