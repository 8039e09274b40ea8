import BalloonWire
import BusinessMessages
import HandlerKit
import MessageStore
import Synchronization

/// Takes the messages of handlers that answer no event: `HandlerHost.send`, and `reply` of a child process.
final class ProactiveMessages: Sendable {
    /// Nil until there is one: handlers are made before, so that a mistake in them costs no recovery.
    private let store = Mutex<Store?>(nil)

    /// Takes messages from now on.
    func open(_ store: Store) { self.store.withLock { $0 = store } }

    /// Writes a message down, to be sent in its conversation's order; the same key is the same message.
    func send(
        _ message: Reply, from business: BusinessID, to customer: CustomerID, key: String
    ) async throws(HandlerHostError) -> MessageID {
        guard (1...200).contains(key.utf8.count) else { throw .unusableKey }
        guard (1...512).contains(customer.rawValue.utf8.count) else { throw .unusableCustomer }
        let id = Self.id(business, customer, key)
        let json = message.encode(id: id, from: business, to: customer)
        let problems = OutboundMessage.problems(inJSON: json, needsEnvelope: true)
        if let problem = problems.first(where: { $0.severity == .error }) {
            throw .unusableMessage(rule: "\(problem.rule)")
        }
        let received = ReceivedMessage(
            business: business, customer: customer, id: id, message: json, outboundKind: message.kind)
        guard let store = store.withLock({ $0 }) else { throw .notStored }
        let result = await withCheckedContinuation { continuation in
            store.append(received) { continuation.resume(returning: $0) }
        }
        switch result {
        case .stored, .duplicate: return id
        case .failed: throw .notStored
        }
    }

    /// The same for the same key, so that the store's own deduplication drops the second: a version 8 UUID (RFC 9562
    /// §5.8) of the first bytes of the key's SHA-256.
    static func id(_ business: BusinessID, _ customer: CustomerID, _ key: String) -> MessageID {
        let parts = [business.rawValue, customer.rawValue, key].map { "\($0.utf8.count):\($0)" }
        var bytes = SHA256.hash(parts.joined().utf8).prefix(16)
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        let digits = Hex.encode(bytes)
        var text = ""
        for (place, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(place) { text.append("-") }
            text.append(digit)
        }
        return MessageID(text)
    }
}
