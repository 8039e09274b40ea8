public import HandlerKit
import Logging
import Synchronization

/// A host that keeps what a handler says unasked, for its author's tests.
public final class TestHost: Sendable {
    /// A message that answers no event.
    public struct Sent: Hashable, Sendable {
        /// What was said.
        public let message: Reply
        /// To whom.
        public let customer: CustomerID
        /// Under which key.
        public let key: String
    }

    private let kept = Mutex<[Sent]>([])

    /// Makes a host that nothing was said to.
    public init() {}

    /// What was said, each key of a customer once, in order.
    public var sent: [Sent] { kept.withLock { $0 } }

    /// What a handler is provisioned with.
    public var host: HandlerHost {
        HandlerHost(business: BusinessID("business"), slug: "business", logger: Logger(label: "handler")) {
            message, customer, key in
            guard (1...200).contains(key.utf8.count) else { throw HandlerHostError.unusableKey }
            guard !message.problems().hasErrors else {
                throw HandlerHostError.unusableMessage(rule: "\(message.problems())")
            }
            self.keep(Sent(message: message, customer: customer, key: key))
            return MessageID("\(customer)/\(key)")
        }
    }

    private func keep(_ new: Sent) {
        kept.withLock { sent in
            if !sent.contains(where: { $0.customer == new.customer && $0.key == new.key }) {
                sent.append(new)
            }
        }
    }
}
