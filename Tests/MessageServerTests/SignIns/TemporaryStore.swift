import BalloonPOSIX
import BusinessMessages
import TestSupport

@testable import MessageStore

/// A data directory whose store a test opens and closes, and queued replies that are in no store.
struct TemporaryStore {
    let directory = TemporaryDirectory()
    private let log = LogCollector()

    func open() throws -> Store {
        try Store.open(StoreConfiguration(directory: directory.file("data")), logger: log.logger)
    }

    /// The queued reply `57.1` of the business `b` to the customer `c`.
    func entry(_ message: OutboundMessage) -> OutboxEntry {
        let id = MessageID("0c316beb-6b7a-4d2f-9e55-1a2b3c4d5e6f")
        let (business, customer) = (BusinessID("b"), CustomerID("urn:mbid:c"))
        let body = message.encode(id: id, from: business, to: customer)
        return OutboxEntry(
            id: ReplyID(record: 57, index: 0), business: business, customer: customer,
            reply: DecidedReply(id: id, kind: message.kind, message: body), inReplyTo: nil,
            decidedAt: Timestamp(milliseconds: 0), attempts: 0, author: nil, attributes: ReceivedAttributes(),
            answersFailure: false, isRecovered: false)
    }
}

extension OpenRequests {
    /// Changes the payment that has this identifier in its message; `change` gets nil when there is none.
    func update<Value: Sendable>(
        _ identifier: String, of business: BusinessID,
        _ change: @escaping @Sendable (inout OpenRequest?, Timestamp) -> Value
    ) async throws -> Value {
        let claim = RequestClaim(.payment, identifier: identifier, of: business, nil)
        if let value = try await update(claim, change).value { return value }
        var none: OpenRequest?
        return change(&none, .now())
    }
}
