public import BusinessMessages
public import Logging

/// The server's services for a handler outside an event.
public struct HandlerHost: Sendable {
    /// The implementation of ``send(_:to:key:)``: returns the id of the message.
    public typealias Send = @Sendable (Reply, CustomerID, String) async throws -> MessageID

    /// The business that the handler answers for.
    public let business: BusinessID
    /// The business's name in commands and logs.
    public let slug: String
    /// A logger that names the business.
    public let logger: Logger
    private let take: Send

    /// Creates a host, in a server or in a handler's tests.
    public init(business: BusinessID, slug: String, logger: Logger, send: @escaping Send) {
        self.business = business
        self.slug = slug
        self.logger = logger
        take = send
    }

    /// Sends a message that answers no event, such as "the parcel has arrived".
    ///
    /// Returns when the message is on disk; it is sent after the replies that are already queued in its
    /// conversation. The same `key` for the same customer means the same message for at least three days: it
    /// is sent once, and every call returns its id. `key` has 1 to 200 bytes. Throws a ``HandlerHostError``.
    @discardableResult
    public func send(_ message: Reply, to customer: CustomerID, key: String) async throws -> MessageID {
        try await take(message, customer, key)
    }
}
