public import BusinessMessages
public import Logging

/// The server as a handler sees it outside an event.
public struct HandlerHost: Sendable {
    /// How a message is handed over: the message, to whom, under which key.
    public typealias Send = @Sendable (Reply, CustomerID, String) async throws -> MessageID

    /// The business that the handler answers for.
    public let business: BusinessID
    /// The business's name in commands and logs.
    public let slug: String
    /// A logger that names the business.
    public let logger: Logger
    private let take: Send

    /// Makes a host; a server does, and a handler's tests.
    public init(business: BusinessID, slug: String, logger: Logger, send: @escaping Send) {
        self.business = business
        self.slug = slug
        self.logger = logger
        take = send
    }

    /// Says something to a customer that answers no event: the bread is ready, the parcel has arrived.
    ///
    /// Returns when the message is on disk; it is sent after what is under way in its conversation. The same `key` for
    /// the same customer is the same message for three days at least, whoever asks and however often: it is sent once,
    /// and its id is returned. `key` has 1 to 200 bytes. Throws a ``HandlerHostError``.
    @discardableResult
    public func send(_ message: Reply, to customer: CustomerID, key: String) async throws -> MessageID {
        try await take(message, customer, key)
    }
}
