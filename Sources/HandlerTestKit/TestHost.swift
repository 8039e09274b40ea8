public import HandlerKit
import Logging
import Synchronization

/// A host that records the messages that a handler sends without an event, for the handler's tests.
public final class TestHost: Sendable {
    /// A message that answers no event.
    public struct Sent: Hashable, Sendable {
        /// The content.
        public let message: Reply
        /// The receiver.
        public let customer: CustomerID
        /// The key that the handler gave for the message.
        ///
        /// Another message with the same key and customer counts as a repetition.
        public let key: String
    }

    private let kept = Mutex<[Sent]>([])
    private let ended = Mutex<[String]>([])

    /// Creates a host without messages.
    public init() {}

    /// The messages in the order of sending, without repetitions.
    public var sent: [Sent] { kept.withLock { $0 } }

    /// The payment requests that the handler withdrew, in order; each of them was open before.
    public var withdrawnPayments: [String] { ended.withLock { $0 } }

    /// The host to pass to `provision`.
    public var host: HandlerHost {
        HandlerHost(
            business: BusinessID("business"), slug: "business", logger: Logger(label: "handler"),
            withdrawPayment: { identifier in
                self.ended.withLock { ended in
                    guard !ended.contains(identifier) else { return false }
                    ended.append(identifier)
                    return true
                }
            }
        ) { message, customer, key in
            guard (1...200).contains(key.utf8.count) else { throw HandlerHostError.unusableKey }
            if let refusal = AnswerRefusal(message.problems(), at: "/message") {
                throw HandlerHostError.unusableMessage(refusal)
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
