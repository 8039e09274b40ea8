import BusinessMessages
import GatewayClient
import MessageStore

/// Stage 11: the replies of a decided delivery, in order, each until it is settled.
extension DeliveryPipeline {
    /// Sends what has not been settled, and returns what became of each reply; nil when one must be tried again later.
    func reply(
        _ delivery: Delivery, _ outcome: DecidedOutcome, _ stages: inout DeliveryStages
    ) async throws -> [Int: ReplyResult]? {
        var results = delivery.replyResults
        // An earlier attempt, or life, may have failed between the journal and the conversation.
        for (index, result) in results.sorted(by: { $0.key < $1.key }) {
            try await record(delivery, index, result)
        }
        let wasClosed = outcome.replies.isEmpty ? false : try wasClosed(delivery, stages.kind)
        for (index, reply) in outcome.replies.enumerated() where delivery.replyResults[index] == nil {
            stages.begin(.reply, of: reply)
            // A close that came meanwhile counts too, though its turn in the conversation has not come.
            let isClosed = wasClosed || store.isClosing(delivery.business, delivery.customer)
            if isClosed {
                try await settle(delivery, index, .failed(reason: closedReason), &results, &stages)
                continue
            }
            let acceptance: GatewayAcceptance
            do {
                let message = try await replyFiles.upload(reply.message, for: delivery.business)
                if let reason = reasonNotToSend(message, delivery) {
                    try await settle(delivery, index, .failed(reason: reason), &results, &stages)
                    continue
                }
                acceptance = try await send(message, reply, of: delivery)
            } catch is ReplyFileMissing {
                try await settle(delivery, index, .failed(reason: fileMissingReason), &results, &stages)
                continue
            } catch let error as GatewayError {
                if case .cancelled = error { throw CancellationError() }
                if case .refused(_, let status, let reason) = error {
                    try await settle(
                        delivery, index, .refused(status: status, reason: "\(reason)"), &results, &stages)
                } else if error.isRetryable, let delay = nextDelay(delivery, atLeast: error.retryAfter) {
                    postpone(delivery, delay, "\(error)", &stages)
                    return nil
                } else {
                    try await settle(delivery, index, .failed(reason: "\(error)"), &results, &stages)
                }
                continue
            }
            try await settle(delivery, index, .accepted(status: acceptance.status), &results, &stages)
        }
        return results
    }

    private func send(
        _ message: [UInt8], _ reply: DecidedReply, of delivery: Delivery
    ) async throws(GatewayError) -> GatewayAcceptance {
        var options = SendOptions()
        options.isNotification = reply.kind == .invitation
        options.isAutomatic = !delivery.isFromPerson
        guard reply.kind == .authentication else {
            return try await gateway.send(
                message, id: reply.id, from: delivery.business, to: delivery.customer, options: options)
        }
        return try await gateway.authenticate(
            message, id: reply.id, from: delivery.business, to: delivery.customer, options: options)
    }

    /// Whether the conversation's last words from the customer closed it; a message that is said in its turn and is no
    /// typing needs no look, because it is the last.
    private func wasClosed(_ delivery: Delivery, _ kind: Kind?) throws -> Bool {
        let isInTurn = delivery.outboundKind == nil && !delivery.isParked && !delivery.isReplay
        if isInTurn, let kind, !kind.isTyping, kind != .close { return false }
        var maximum = conversationLength
        while true {
            let lines = try store.recentLines(
                of: delivery.business, delivery.customer, maximum: maximum)
            if let last = lines.last(where: { $0.direction == .inbound && !$0.kind.isTyping }) {
                return last.kind == .close
            }
            // Each message that was not sent has a line too, so that a close can be any number of them away.
            guard lines.count >= maximum else { return false }
            maximum *= 4
        }
    }

    /// The first rule that a reply breaks, which Apple would answer with a 400 that names none; nil when it may go.
    ///
    /// What stood in the message is left out: it may be the customer's own words.
    private func reasonNotToSend(_ message: [UInt8], _ delivery: Delivery) -> String? {
        let capabilities = delivery.attributes.capabilityList.map { Capabilities(parsing: $0) }
        let problems = OutboundMessage.problems(inJSON: message, needsEnvelope: true, for: capabilities)
        guard let problem = problems.first(where: { $0.severity == .error }) else { return nil }
        return
            "not sent: it breaks the rule \(problem.rule) at \(problem.pointer.isEmpty ? "/" : problem.pointer)"
    }

    private func settle(
        _ delivery: Delivery, _ index: Int, _ result: ReplyResult, _ results: inout [Int: ReplyResult],
        _ stages: inout DeliveryStages
    ) async throws {
        results[index] = result
        try await record(delivery, index, result)
        switch result {
        case .accepted: stages.end(.done)
        case .refused(let status, let reason): stages.end(.refused(status: status, reason: reason))
        case .failed(let reason): stages.end(.failed(reason: reason))
        }
    }

    /// Tried until the journal has it: what the gateway has accepted must not be sent again, but for a stop, and then with
    /// the same id.
    private func record(_ delivery: Delivery, _ index: Int, _ result: ReplyResult) async throws {
        try await keepTrying(store) { try await store.recordReply(delivery, index: index, result: result) }
        if delivery.outboundKind != nil, let reply = delivery.decided?.replies[index] {
            outcomes.settle(reply.id, result)
        }
    }
}

/// Why nothing was sent, in the conversation's line.
private let closedReason = "not sent: the customer has closed the conversation and not written since"
private let fileMissingReason = "not sent: a file that goes with it is no longer kept"

extension Kind {
    fileprivate var isTyping: Bool { self == .typingStart || self == .typingEnd }
}
