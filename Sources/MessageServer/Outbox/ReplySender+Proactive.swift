import BalloonPOSIX
import BusinessMessages
import MessageStore

/// Sends messages of a business on request, without an event.
extension ReplySender {
    /// Makes a message durable, and waits for its outcome as long as the request allows.
    ///
    /// A message with a person claims the conversation. Throws a `SendRefusal` before writing anything, and a `StoreError` when it cannot be made durable.
    func send(_ request: SendRequest) async throws -> SendAnswer {
        let id = MessageID.random()
        let message = try await message(request, id)
        let result = try await outcomes.outcome(of: id, within: request.wait) { [store] in
            try await store.keep(message, takes: request.takes)
        }
        return SendAnswer(id: id, result: result)
    }

    private func message(_ request: SendRequest, _ id: MessageID) async throws -> ReceivedMessage {
        let capabilities = try await store.knownCapabilities(of: request.business, request.customer)
        let outbound = try request.outbound(id: id, for: capabilities)
        var body = outbound.message
        if !request.files.isEmpty {
            do { body = try await replyFiles.keep(body) } catch let file as UnreadableFile {
                let error = file.error
                throw SendRefusal.fileUnreadable(error)
            }
        }
        return ReceivedMessage(
            business: request.business, customer: request.customer, id: id, message: body,
            outboundKind: outbound.kind,
            author: request.isAutomatic ? .program : .person(request.person))
    }
}

extension Store {
    /// Appends a message and waits for the disk.
    fileprivate func keep(_ message: ReceivedMessage, takes: Bool) async throws {
        do {
            if case .failed(let error) = try await send(message, takes: takes) { throw error }
        } catch StoreError.assignment(let refusal) {
            throw SendRefusal.assignment(refusal)
        }
    }
}
