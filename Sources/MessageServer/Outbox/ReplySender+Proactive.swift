import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore

/// Runs a given search of the journal for an earlier message, within the caller's limits on concurrent
/// searches.
typealias JournalSearch =
    @Sendable (
        _ search: @Sendable () async throws -> SentMessage?
    ) async throws -> SentMessage?

/// Sends messages of a business on request, without an event of a customer.
///
/// For a request whose key was used before, the earlier message may have to be searched in the journal. The
/// closure `searching` runs such a search.
extension ReplySender {
    /// Makes a message durable, and waits for its outcome as long as the request allows.
    ///
    /// A message with a person claims the conversation. With a key, two equal concurrent requests send one
    /// message, and a message to a customer who has closed the conversation is refused. `willWait` is called
    /// before the wait. A stop of the server ends the wait of a request with a key, because the program can
    /// repeat the request. Throws a `SendRefusal` before anything is written, and a `StoreError` when the
    /// message cannot be made durable.
    func send(
        _ request: SendRequest, _ key: IdempotencyKey? = nil,
        searching search: @escaping JournalSearch = { try await $0() },
        willWait: @Sendable () -> Void = {}
    ) async throws -> SendAnswer {
        let id = key?.message ?? .random()
        let result = try await outcomes.outcome(
            of: id, within: request.wait, endsWithStop: key != nil, willWait: willWait
        ) {
            if key != nil { try await checkOpen(request) }
            try await checkConsent(request)
            let hold = replyFiles.files.hold(for: request.business)
            let message = try await message(request, id, key, hold)
            if request.isAutomatic, message.outboundKind?.isTyping == false,
                !store.assignment(of: request.business, request.customer).isAssigned
            {
                try await Opening(store: store, configuration: configuration).send(
                    in: ConversationID(business: request.business, customer: request.customer))
            }
            let result = try await store.keep(message, takes: request.takes)
            withExtendedLifetime(hold) {}
            guard result == .duplicate else { return nil }
            // Another request with the key was faster. Only a customer could have chosen the id otherwise.
            guard let key, let sent = try await sent(key, request.business, search) else {
                throw SendRefusal.keyReused
            }
            return sent.result
        }
        return SendAnswer(id: id, result: result)
    }

    /// Waits for the outcome of the message that an earlier request with the key sent; nil when there was no
    /// such request.
    ///
    /// Throws ``SendRefusal/keyReused`` when the earlier request had another content.
    func repeated(
        _ key: IdempotencyKey, _ business: BusinessID, within wait: Duration,
        searching search: @escaping JournalSearch, willWait: @Sendable () -> Void
    ) async throws -> SendAnswer? {
        guard let sent = try await sent(key, business, search) else { return nil }
        if sent.result != nil || wait == .zero { return SendAnswer(id: key.message, result: sent.result) }
        let result = try await outcomes.outcome(
            of: key.message, within: wait, endsWithStop: true, willWait: willWait
        ) {
            // Look again: the message may have ended before this caller was registered.
            try await self.sent(key, business, search)?.result
        }
        return SendAnswer(id: key.message, result: result)
    }

    /// Checks a request as ``send(_:_:searching:willWait:)`` does, without sending; returns the warnings
    /// about the message.
    ///
    /// Throws the error that sending would throw now.
    func check(
        _ request: SendRequest, _ key: IdempotencyKey, searching search: @escaping JournalSearch
    ) async throws -> [MessageProblem] {
        let capabilities = try await store.knownCapabilities(of: request.business, request.customer)
        let outbound = try outbound(request, id: key.message, for: capabilities)
        if try await sent(key, request.business, search) == nil {
            try await checkOpen(request)
            try await checkConsent(request)
            let assignment = store.assignment(of: request.business, request.customer)
            if let refusal = request.refusal(of: outbound.kind, in: assignment) {
                throw SendRefusal.assignment(refusal)
            }
        }
        return request.files.isEmpty
            ? OutboundMessage.problems(
                inJSON: outbound.message, needsEnvelope: true, for: capabilities,
                now: SystemClock.secondsSince1970()) : []
    }

    /// Returns the message that an earlier request with the key sent; nil when there was no such request.
    ///
    /// Throws ``SendRefusal/keyReused`` when the earlier request had another content.
    private func sent(
        _ key: IdempotencyKey, _ business: BusinessID, _ search: @escaping JournalSearch
    ) async throws -> SentMessage? {
        guard let sent = try await store.sentMessage(key.message, of: business, limit: search) else {
            return nil
        }
        guard sent.requestDigest.map({ $0 == key.requestDigest }) ?? true else {
            throw SendRefusal.keyReused
        }
        return sent
    }

    private func outbound(
        _ request: SendRequest, id: MessageID, for capabilities: Capabilities?
    ) throws -> DecidedReply {
        try request.outbound(
            id: id, for: capabilities,
            allowsClassicSignIn: signIns.settings?.hasClassic(request.business) ?? false)
    }

    private func checkOpen(_ request: SendRequest) async throws {
        let isClosed = try await onDisk { [store] in
            try store.isClosedByCustomer(request.business, request.customer)
        }
        if isClosed { throw SendRefusal.assignment(.closed) }
    }

    /// Refuses a program's message to which a customer who has not written lately has not agreed.
    ///
    /// A message without `person` counts as a program's.
    private func checkConsent(_ request: SendRequest) async throws {
        guard request.person == nil else { return }
        // An invalid message is refused later.
        let kind = (try? OutboundMessage(json: request.message))?.kind
        let refusal = try await onDisk { [store, configuration] in
            try Notices(store, configuration).refusal(
                of: request.message.root["purpose"]?.string, kind, by: .program, request.business,
                request.customer)
        }
        if let refusal { throw SendRefusal.noConsent(refusal) }
    }

    private func message(
        _ request: SendRequest, _ id: MessageID, _ key: IdempotencyKey?, _ hold: ContentHold
    ) async throws -> ReceivedMessage {
        let capabilities = try await store.knownCapabilities(of: request.business, request.customer)
        let outbound = try self.outbound(request, id: id, for: capabilities)
        var body = outbound.message
        if !request.files.isEmpty {
            do { body = try await replyFiles.keep(body, into: hold) } catch let file
                as UnreadableFile
            {
                throw SendRefusal.fileUnreadable(file.error, attachment: file.attachment)
            }
        }
        return ReceivedMessage(
            business: request.business, customer: request.customer, id: id, message: body,
            outboundKind: outbound.kind,
            author: request.isAutomatic ? .program : .person(request.person),
            requestDigest: key?.requestDigest)
    }
}

extension SendRequest {
    /// Returns why this request may not write in a conversation with this assignment; nil when it may.
    fileprivate func refusal(of kind: Kind?, in assignment: Assignment) -> AssignmentRefusal? {
        if isAutomatic { return assignment.refusal(ofProgramSending: kind) }
        guard let person, !takes, let current = assignment.person, current.id != person.id else { return nil }
        return .claimed(by: current)
    }
}

extension Store {
    /// Appends a message to the journal, and returns when the message is on disk.
    fileprivate func keep(_ message: ReceivedMessage, takes: Bool) async throws -> AppendResult {
        do {
            let result = try await send(message, takes: takes)
            if case .failed(let error) = result { throw error }
            return result
        } catch StoreError.assignment(let refusal) {
            throw SendRefusal.assignment(refusal)
        }
    }
}
