public import BusinessMessages

/// A handler that receives events of every kind through one method; it represents code outside the process.
///
/// Handlers in the process conform to the protocol of each kind instead. For a type that conforms to both,
/// only this protocol is used.
public protocol EventHandler: Handler {
    /// The current subscriptions, which may change while the handler runs.
    var subscriptions: Set<Subscription> { get }

    /// The maximum number of concurrent events; nil leaves the limit to the server.
    var maximumInFlight: Int? { get }

    /// Waits until the handler can receive an event; returns false when it never will again, or when the task
    /// is cancelled.
    ///
    /// Meanwhile events wait in order, and no attempt is counted.
    func waitUntilReady() async -> Bool

    /// Makes ``waitUntilReady()`` return false from now on, because the server is stopping.
    func stopWaiting()

    /// Answers an event.
    func handle(_ context: Context) async throws -> Outcome

    /// The callbacks of payments that the handler answers; nil while it has not told them yet.
    var payments: Set<PaymentCallback.Kind>? { get }

    /// Answers a callback of a payment; it is not tried again.
    func payment(_ context: PaymentContext) async throws -> PaymentAnswer

    /// Returns the money of an attempt; throws to be called again.
    func reversal(_ reversal: PaymentReversal) async throws

    /// Since when the handler has been unable to receive or answer events; nil while it works.
    var downSince: ContinuousClock.Instant? { get }

    /// The handler's status, for an operator.
    var report: HandlerReport { get async }

    /// Restarts the handler on behalf of an operator; events in flight are delivered again.
    func restart() async

    /// Ends the handler's process as a crash would, without a warning; returns whether there was a process.
    ///
    /// The server then restarts it as after a crash. Developers try with it what their customers see.
    func crash() async -> Bool

    /// Records for the handler's author why its answer was refused; the server's log has it already.
    func recordRefusal(_ refusal: AnswerRefusal, of delivery: DeliveryID)
}

extension EventHandler {
    /// Returns false: the handler has no process.
    public func crash() async -> Bool { false }

    /// None: the handler answers no payments.
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
    /// How often the server has restarted the handler.
    public let restarts: Int
    /// The id of the handler's process, if it has one.
    public let processID: Int32?
    /// The number of lines on its standard output that were not protocol messages, in all of its processes.
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
    /// When the server read the line.
    public let at: ContinuousClock.Instant
    /// The line; it may quote a customer.
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
