public import BusinessMessages
public import Logging

/// The services that the server offers to a handler outside an event.
public struct HandlerHost: Sendable {
    /// The implementation of ``send(_:to:key:)``: returns the id of the message.
    public typealias Send = @Sendable (Reply, CustomerID, String) async throws -> MessageID
    /// The implementation of ``withdrawPayment(_:)``: returns whether the request was open.
    public typealias WithdrawPayment = @Sendable (String) async throws -> Bool

    /// The business that the handler answers for.
    public let business: BusinessID
    /// The business's name in commands and logs.
    public let slug: String
    /// A logger that names the business.
    public let logger: Logger
    private let take: Send
    private let withdraw: WithdrawPayment

    /// Creates a host, in a server or in a handler's tests.
    ///
    /// Without `withdrawPayment`, every payment request counts as not open.
    public init(
        business: BusinessID, slug: String, logger: Logger,
        withdrawPayment: @escaping WithdrawPayment = { _ in false }, send: @escaping Send
    ) {
        self.business = business
        self.slug = slug
        self.logger = logger
        take = send
        withdraw = withdrawPayment
    }

    /// Sends a message that answers no event, such as "the parcel has arrived".
    ///
    /// Returns when the message is on disk; it is sent after the replies that are already queued in its
    /// conversation.
    ///
    /// For at least three days, calls with the same `key` for the same customer mean the same message: it is
    /// sent once, and every call returns its id. `key` has 1 to 200 bytes. Throws a ``HandlerHostError``.
    @discardableResult
    public func send(_ message: Reply, to customer: CustomerID, key: String) async throws -> MessageID {
        try await take(message, customer, key)
    }

    /// Ends a payment request before it is paid, for example because the customer has paid in another way.
    ///
    /// Returns false when the request is unknown, has ended, is paid, or has an attempt whose result is not
    /// known yet. After a withdrawal, the payment sheet fails without a call of the handler. Throws a
    /// ``HandlerHostError``.
    public func withdrawPayment(_ requestIdentifier: String) async throws -> Bool {
        try await withdraw(requestIdentifier)
    }
}
