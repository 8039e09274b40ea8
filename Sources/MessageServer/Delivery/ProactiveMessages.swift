import BalloonPOSIX
import HandlerKit
import MessageStore
import Synchronization

/// Accepts messages of handlers that answer no event: `HandlerHost.send`, and `reply` of a child process.
///
/// It also ends the payment requests that handlers withdraw.
final class ProactiveMessages: Sendable {
    /// Nil until the store is open: handlers are created first, so that an error in them is reported before
    /// the recovery.
    private let opened = Mutex<Opened?>(nil)

    private struct Opened {
        let store: Store
        let configuration: CurrentConfiguration
        let payments: PaymentResults?
    }

    /// Accepts messages from now on.
    func open(_ store: Store, _ configuration: CurrentConfiguration, payments: PaymentResults? = nil) {
        opened.withLock { $0 = Opened(store: store, configuration: configuration, payments: payments) }
    }

    /// Ends a payment request before it is paid; false when it is not open.
    func withdrawPayment(
        _ requestIdentifier: String, of business: BusinessID
    ) async throws(HandlerHostError) -> Bool {
        guard let payments = opened.withLock({ $0 })?.payments else { throw .notStored }
        do { return try await payments.withdraw(requestIdentifier, of: business) } catch {
            throw .notStored
        }
    }

    /// Makes a message durable, to be sent in its conversation's order; the same key means the same message.
    ///
    /// Throws `HandlerHostError.withPerson` while a person has the conversation or it waits for one. Even
    /// then, a request to sign in is accepted.
    func send(
        _ message: Reply, from business: BusinessID, to customer: CustomerID, key: String
    ) async throws(HandlerHostError) -> MessageID {
        guard (1...200).contains(key.utf8.count) else { throw .unusableKey }
        guard customer.fitsHeader else { throw .unusableCustomer }
        guard let opened = opened.withLock({ $0 }) else { throw .notStored }
        let (store, configuration) = (opened.store, opened.configuration)
        let checked: Reply
        do {
            let capabilities = try await store.knownCapabilities(of: business, customer)
            checked = try CheckedAnswer.check(
                message, for: capabilities,
                allowsClassicSignIn: SignInSettings(configuration).hasClassic(business), at: "/message")
        } catch let refusal as AnswerRefusal {
            throw .unusableMessage(refusal)
        } catch {
            // The conversation, which has the device's capabilities, cannot be read now.
            throw .notStored
        }
        let name = ConversationID(business: business, customer: customer)
        let reply = DecidedReply(
            checked, as: Self.id(business, customer, key), in: name, by: .handler)
        // Checks the addresses too, and refuses files, which only a reply to an event may have.
        let problems = OutboundMessage.problems(
            inJSON: reply.message, needsEnvelope: true, now: SystemClock.secondsSince1970())
        if let refusal = AnswerRefusal(problems, at: "/message") { throw .unusableMessage(refusal) }
        do throws(StoredFileNamed) { try ReplyFiles.checkNoStoredFile(reply.message) } catch {
            throw .unusableMessage(error.refusal(at: "/message"))
        }
        try await checkConsent(checked, Notices(store, configuration), business, customer)
        do {
            if !checked.kind.isTyping, !store.assignment(of: business, customer).isAssigned {
                try await Opening(store: store, configuration: configuration).send(in: name)
            }
            switch try await store.send(ReceivedMessage(reply, in: name)) {
            case .stored, .duplicate: return reply.id
            case .failed: throw HandlerHostError.notStored
            }
        } catch StoreError.assignment {
            throw .withPerson
        } catch {
            throw .notStored
        }
    }

    private func checkConsent(
        _ message: Reply, _ notices: Notices, _ business: BusinessID, _ customer: CustomerID
    ) async throws(HandlerHostError) {
        let refusal: NoConsent?
        do {
            refusal = try await onDisk {
                try notices.refusal(of: message.purpose, message.kind, by: .handler, business, customer)
            }
        } catch {
            // The conversation cannot be read now.
            throw .notStored
        }
        if let refusal { throw .noConsent(refusal.reason) }
    }

    /// The id of a message, equal for equal keys, so that the store's deduplication drops a second message.
    static func id(_ business: BusinessID, _ customer: CustomerID, _ key: String) -> MessageID {
        MessageID(derivedFrom: [business.rawValue, customer.rawValue, key])
    }
}

extension CustomerID {
    /// Whether the identifier can be a header field of a call to the gateway: 1 to 512 bytes without control characters.
    var fitsHeader: Bool {
        (1...512).contains(rawValue.utf8.count) && rawValue.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
    }
}

extension Store {
    /// The capabilities of the customer's device at its last message; nil when they are not known.
    func knownCapabilities(of business: BusinessID, _ customer: CustomerID) async throws -> Capabilities? {
        let list = try await onDisk { try self.lastCapabilities(of: business, customer) }
        return list.map { Capabilities(parsing: $0) }
    }
}
