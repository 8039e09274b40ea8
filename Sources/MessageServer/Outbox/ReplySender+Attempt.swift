import BalloonPOSIX
import BusinessMessages
import GatewayClient
import MessageStore

/// One attempt to send a reply: the attempt returns its result, which the caller records, and schedules no
/// retry itself.
extension ReplySender {
    /// The result of an attempt to send a reply.
    enum Decision: Sendable {
        /// The reply ended before it was sent.
        case ended(ReplyResult)
        /// An attempt was made; its answer or its network error led to this decision.
        case tried(SendDecision)
    }

    /// The maximum age of a typing indicator; an older one is not sent.
    private static let typingLifetime = Duration.seconds(60)

    /// Tries to send a reply, and tries again with a new token after a 401 or 403; returns the last result.
    ///
    /// A typing indicator is tried only once.
    func decision(about entry: OutboxEntry) async -> Decision {
        let decision = await tryOnce(entry)
        let isTyping = entry.reply.kind.isTyping
        switch decision {
        case .tried(.credentialRefused) where !isTyping:
            gateway.renewToken()
            return await tryOnce(entry)
        case .tried(.credentialRefused(let status, _)):
            return .ended(.dropped(reason: "typing is tried once: refused with \(status)"))
        case .tried, .ended: return decision
        }
    }

    private func tryOnce(_ entry: OutboxEntry) async -> Decision {
        do {
            if let result = try resultWithoutSending(entry) { return .ended(result) }
            let withFiles = try await replyFiles.upload(entry.reply.message, for: entry.business)
            let withPage = await linkPages?.complete(withFiles, for: entry.business) ?? withFiles
            let message = try await ReplyPreview(gateway: gateway).resolve(withPage, for: entry.business)
            try check(message, entry)
            let complete = try await complete(message, entry)
            // The customer may have closed the conversation during an upload, or another wait for an added part.
            if complete != entry.reply.message, let result = try resultWithoutSending(entry) {
                return .ended(result)
            }
            return .tried(.accepted(status: try await post(complete, entry).status))
        } catch let error as ReplyRefused {
            return .ended(.refused(status: nil, reason: error.reason))
        } catch let error as GatewayError {
            return .tried(SendDecision(error))
        } catch is CancellationError {
            return .tried(.interrupted)
        } catch {
            // After an error of the disk or of the conversation's file the reply is retried, because it may
            // still be sent.
            return .tried(.wait(reason: "\(error)", atLeast: nil, isOutage: false))
        }
    }

    /// Returns the message with the parts that are added only at sending.
    private func complete(_ message: [UInt8], _ entry: OutboxEntry) async throws -> [UInt8] {
        switch entry.reply.kind {
        case .authentication: try await signIns.complete(message, entry)
        case .applePay: try await payments.complete(message, entry)
        default: message
        }
    }

    private func post(_ message: [UInt8], _ entry: OutboxEntry) async throws(GatewayError)
        -> GatewayAcceptance
    {
        var options = SendOptions()
        options.isNotification = entry.reply.kind == .invitation
        options.isAutomatic = !entry.isFromPerson
        store.countPost(entry)
        guard entry.reply.kind == .authentication else {
            return try await gateway.send(
                message, id: entry.reply.id, from: entry.business, to: entry.customer, options: options)
        }
        return try await gateway.authenticate(
            message, id: entry.reply.id, from: entry.business, to: entry.customer, options: options)
    }

    /// Returns the result of a reply that must not be sent; nil when the reply can be sent.
    ///
    /// A reply is not sent when the conversation was closed, when the reply is parked, or when a typing
    /// indicator is too old.
    private func resultWithoutSending(_ entry: OutboxEntry) throws -> ReplyResult? {
        if entry.reply.kind.isTyping, entry.decidedAt.advanced(by: Self.typingLifetime) < .now() {
            return .dropped(reason: typingOverReason)
        }
        if let until = entry.until, until < .now() { return .dropped(reason: lateReason) }
        if let reason = store.reasonToPark(entry.id.record) {
            return .refused(status: nil, reason: reason)
        }
        return try store.isClosedByCustomer(entry) ? .dropped(reason: closedReason) : nil
    }

    /// Throws ``ReplyRefused`` with the first rule that a reply breaks.
    ///
    /// Without this check, the only reason would be Apple's 400, which names no rule. The reason omits the
    /// message's text, which may contain the customer's own words.
    private func check(_ message: [UInt8], _ entry: OutboxEntry) throws(ReplyRefused) {
        let capabilities = entry.capabilityList.map { Capabilities(parsing: $0) }
        let problems = OutboundMessage.problems(
            inJSON: message, needsEnvelope: true, for: capabilities, now: SystemClock.secondsSince1970())
        guard let problem = problems.first(where: { $0.severity == .error }) else { return }
        throw ReplyRefused(
            "not sent: it breaks the rule \(problem.rule) at \(problem.pointer.isEmpty ? "/" : problem.pointer)"
        )
    }
}

/// The reason that is recorded for a reply to a customer who has closed the conversation.
private let closedReason = "not sent: the customer has closed the conversation and not written since"
private let lateReason = "not sent: its time is over"
private let typingOverReason = "not sent: typing is shown for a minute at most"
