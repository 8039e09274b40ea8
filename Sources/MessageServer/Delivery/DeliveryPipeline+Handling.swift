import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import HandlerKit
import Logging
import MessageStore

/// The stage `handle`: calls the handler, checks its answer and decides the outcome.
extension DeliveryPipeline {
    /// The result of the stage `handle`.
    enum Handled {
        /// The outcome is decided and durable.
        case decided(DeliveryResult)
        /// The attempt ended without an outcome: the delivery is retried later, or is a dead letter.
        case attemptEnded
        /// The handler was replaced before it was called: the event is routed again, and no attempt counts.
        case replaced
    }

    /// Calls the handler and decides the outcome.
    ///
    /// The outcome, the final bytes of every reply and the state are durable before the first reply is sent.
    func handle(
        _ delivery: Delivery, _ event: InboundEvent, _ handler: any Handler, _ worker: BusinessWorker,
        _ business: BusinessHandler, _ responder: BusinessHandler.Responder, _ stages: inout DeliveryStages
    ) async throws -> Handled {
        stages.begin(.handle)
        var answer: Result<CheckedAnswer, HandlerFailure>
        do {
            answer = try await ask(handler, delivery, event, worker, business, responder.slots, &stages)
            if case .failure(.refused(let refusal)) = answer {
                return try await refuse(
                    delivery, event, refusal, of: handler, worker, business, responder, &stages)
            }
            if case .failure = answer, !responder.isFallback,
                let fallback = await business.fallbackResponder(for: subscription(of: delivery, event)),
                let handler = fallback.handler
            {
                answer = try await ask(handler, delivery, event, worker, business, fallback.slots, &stages)
            }
        } catch is HandlerSlots.Closed {
            return .replaced
        }
        if !Self.isOutcome(answer), await store.isWithPerson(delivery) {
            stages.end(.ended("withPerson"))
            return .decided(.withPerson)
        }
        switch answer {
        case .success(let checked):
            let handled: Handled
            switch checked.outcome {
            case .handled: handled = try await decide(delivery, .handled, checked, &stages)
            case .reject(let reason):
                let reason = reason.cut(toBytes: Outcome.maximumReasonBytes)
                handled = try await decide(delivery, .rejected(reason: reason), checked, &stages)
            case .handoff(let reason, _, let queue, let priority, let note):
                let reason = reason.cut(toBytes: Outcome.maximumReasonBytes)
                let isPlaced = queue != nil || priority != nil
                let wish = isPlaced ? Placement(queue: queue, priority: priority) : nil
                handled = try await handOff(delivery, reason: reason, wish, note: note, checked, &stages)
            case .retry(let after):
                try await tryAgain(delivery, "the handler asked for a retry", asked: after, &stages)
                return .attemptEnded
            }
            if case .decided(.withPerson) = handled {
                report(.withPerson, delivery, business)
                (handler as? any EventHandler)?
                    .recordRefusal(.withPerson, of: DeliveryID("\(store.identity).\(delivery.record)"))
            }
            return handled
        case .failure(.unavailable(let reason)):
            guard delivery.receivedAt.advanced(by: maximumUnavailability) < .now() else {
                release(delivery, reason, &stages)
                return .attemptEnded
            }
            try await finish(delivery, .failed(reason: reason), &stages)
        case .failure(.notAsked(let error)): throw StoreError.unavailable(path: "handlers", error)
        case .failure(.refused(let refusal)):
            report(refusal, delivery, business)
            try await finish(delivery, .refused(RefusedAnswer(refusal)), &stages)
        case .failure(let failure):
            try await tryAgain(delivery, failure.reason, asked: nil, &stages)
        }
        return .attemptEnded
    }

    /// Whether an answer decides the outcome; otherwise the delivery would be tried again.
    private static func isOutcome(_ answer: Result<CheckedAnswer, HandlerFailure>) -> Bool {
        guard case .success(let checked) = answer else { return false }
        if case .retry = checked.outcome { return false }
        return true
    }

    /// Ends a delivery whose answer breaks a rule: the delivery becomes a dead letter without a retry.
    ///
    /// A retry would get the same answer from the same handler. The fallback, if there is one, answers the
    /// customer.
    private func refuse(
        _ delivery: Delivery, _ event: InboundEvent, _ refusal: AnswerRefusal, of handler: any Handler,
        _ worker: BusinessWorker, _ business: BusinessHandler, _ responder: BusinessHandler.Responder,
        _ stages: inout DeliveryStages
    ) async throws -> Handled {
        report(refusal, delivery, business)
        (handler as? any EventHandler)?.recordRefusal(
            refusal, of: DeliveryID("\(store.identity).\(delivery.record)"))
        if !responder.isFallback,
            let fallback = await business.fallbackAfterRefusal(for: subscription(of: delivery, event)),
            let handler = fallback.handler,
            case .success(let checked) = try await ask(
                handler, delivery, event, worker, business, fallback.slots, &stages),
            !checked.replies.isEmpty
        {
            return try await decide(delivery, .refused(RefusedAnswer(refusal)), checked, &stages)
        }
        try await finish(delivery, .refused(RefusedAnswer(refusal)), &stages)
        return .attemptEnded
    }

    private func report(_ refusal: AnswerRefusal, _ delivery: Delivery, _ business: BusinessHandler) {
        guard let problem = refusal.problems.first else { return }
        logger.warning(
            "handler answer refused; nothing of it is sent",
            metadata: [
                "business": "\(business.slug)", "delivery": "\(delivery.record)", "rule": "\(problem.rule)",
                "place": "\(problem.place)", "passage": "\(problem.passage)",
                "problems": "\(refusal.problems.count)",
                "hint":
                    "run balloon handlers logs \(business.slug), which shows the found and the allowed values",
            ])
    }

    private func context(
        of delivery: Delivery, _ event: InboundEvent, _ business: BusinessHandler
    ) async throws -> Context {
        try store.checkIntact(delivery.business, delivery.customer)
        let state = try await store.state(of: delivery.business, delivery.customer)
        var context = Context(
            event: event,
            replyFailure: delivery.isReplyFailure ? ReplyFailure(event.message) : nil,
            conversation: conversation(of: delivery),
            state: ConversationState(try state.map { try JSONDocument($0).root }),
            files: attachments.files.handlersView(of: delivery.files ?? []),
            deliveryID: DeliveryID("\(store.identity).\(delivery.record)"), attempt: delivery.attempt,
            isAfterGap: delivery.isAfterGap, afterPerson: delivery.afterPerson, isReplay: delivery.isReplay,
            receivedAt: try firstReceived(delivery).rfc3339,
            unrecognizedReason: delivery.unrecognizedReason(of: event),
            deadline: .now + business.deadline, logger: business.logger)
        if case .result(let result)? = try await signIns?.meaning(of: event) { context.signIn = result }
        context.payment = try await payments?.result(of: event)
        if delivery.isInternal { context.consent = ConsentChange(event.message) }
        context.traceparentSource = {
            TraceID(delivery.business, delivery.id).parent(
                delivery: delivery.record, attempt: delivery.attempt)
        }
        return context
    }

    /// Returns the time at which the message first arrived; the record of a replay has a later time.
    private func firstReceived(_ delivery: Delivery) throws -> Timestamp {
        guard delivery.isReplay else { return delivery.receivedAt }
        let line = try store.inboundLine(of: delivery.id, from: delivery.customer, to: delivery.business)
        return line?.at ?? delivery.receivedAt
    }

    /// The last lines of the conversation, followed by its queued replies.
    func conversation(of delivery: Delivery) -> Conversation {
        let read: @Sendable () throws -> [Conversation.Entry] = {
            [store, conversationLength, maximumConversationBytes] in
            // Read the queue before the lines: a reply gets its line before it leaves the queue, so none is
            // missed.
            let queued = store.queuedReplies(
                of: delivery.business, delivery.customer, maximum: conversationLength)
            let lines = try store.recentLines(
                of: delivery.business, delivery.customer, maximum: conversationLength,
                maximumBytes: maximumConversationBytes)
            let ended = Set(lines.lazy.filter { $0.direction == .outbound }.map(\.id))
            return lines.compactMap(Conversation.Entry.init)
                + queued.filter { !ended.contains($0.reply.id) }.compactMap(Conversation.Entry.init)
        }
        var conversation = Conversation(reading: read) { [store] id in
            try store.inboundLine(of: id, from: delivery.customer, to: delivery.business)?.sequence
        }
        conversation.isNew = delivery.begins != nil
        conversation.lastContact = delivery.begins?.lastContact?.rfc3339
        return conversation
    }

    /// Calls the handler and checks its answer; the same rules hold for every kind of handler.
    private func ask(
        _ handler: any Handler, _ delivery: Delivery, _ event: InboundEvent, _ worker: BusinessWorker,
        _ business: BusinessHandler, _ slots: HandlerSlots, _ stages: inout DeliveryStages
    ) async throws -> Result<CheckedAnswer, HandlerFailure> {
        try await levers?.waitUntilStarted(delivery.business)
        let context = try await context(of: delivery, event, business)
        stages.payment = context.payment?.state.rawValue
        guard let attempts else { return try await call(handler, delivery, context, worker, business, slots) }
        let attempt = attempts.begin(
            delivery.record, attempt: delivery.attempt, of: delivery.business,
            state: context.state.json.map { Array($0.text) })
        do {
            let answer = try await call(handler, delivery, context, worker, business, slots)
            await attempts.end(attempt, of: handler)
            return answer
        } catch {
            await attempts.end(attempt, of: handler)
            throw error
        }
    }

    private func call(
        _ handler: any Handler, _ delivery: Delivery, _ context: Context, _ worker: BusinessWorker,
        _ business: BusinessHandler, _ slots: HandlerSlots
    ) async throws -> Result<CheckedAnswer, HandlerFailure> {
        let deadline = business.deadline
        let delay = levers?[delivery.business].delay ?? .zero
        // A handler outside this process cannot crash it.
        if handler is any EventHandler { store.suspend(delivery, isOutside: true) }
        let answer = try await slots.run(within: deadline, on: worker.threads) {
            [store] () async -> Result<Outcome, HandlerFailure> in
            guard store.beginCall(delivery) else { return .failure(.ended) }
            do {
                // The deadline starts here, regardless of the wait for a slot.
                let context = context.beginning(deadline: .now + deadline)
                if delay > .zero { try await Task.sleep(for: delay) }
                return .success(try await dispatch(context, to: handler) ?? .handled)
            } catch {
                return .failure(HandlerFailure(error))
            }
        }
        await store.resume(delivery)
        if let failure = context.conversation.failure { throw failure }
        switch answer {
        case .failure(.ended)?: throw StoreError.notLeased(record: delivery.record)
        case nil: return .failure(.overran)
        case .failure(let failure)?: return .failure(failure)
        case .success(let outcome)?:
            business.warnAboutQuestion(in: outcome, delivery)
            do {
                let outcome = try CheckedAnswer.check(
                    outcome, context, for: try capabilities(of: delivery),
                    allowsClassicSignIn: signIns?.settings.hasClassic(delivery.business) ?? false)
                return .success(try await prepare(outcome, delivery, context))
            } catch let refusal as AnswerRefusal {
                return .failure(.refused(refusal))
            }
        }
    }

    /// Returns the capabilities of the customer's device; nil when they are not known.
    ///
    /// The event of a failed reply has no capability list, so the customer's last message gives it.
    private func capabilities(of delivery: Delivery) throws -> Capabilities? {
        var list = delivery.attributes.capabilityList
        if delivery.isReplyFailure {
            list = try store.lastCapabilities(of: delivery.business, delivery.customer)
        }
        return list.map { Capabilities(parsing: $0) }
    }

    /// Returns the answer with the final bytes of its replies: they have ids, and their files are copied to
    /// the data directory.
    private func prepare(
        _ outcome: Outcome, _ delivery: Delivery, _ context: Context
    ) async throws -> CheckedAnswer {
        let hold = replyFiles.files.hold(for: delivery.business)
        var final: [DecidedReply] = []
        for (index, reply) in linkParts(of: outcome.replies, delivery) {
            let id = MessageID.random()
            var message = reply.encodeToSend(id: id, from: delivery.business, to: delivery.customer)
            if reply.hasFiles {
                do {
                    message = try await replyFiles.keep(message, into: hold)
                } catch let error as UnreadableFile {
                    // A disk error is not the handler's fault: the delivery is retried.
                    guard !error.error.isDiskWide, !error.error.mayPass else {
                        throw StoreError.unavailable(path: "attachments", error.error)
                    }
                    throw error.refusal(
                        reply: index, maximumBytes: configuration.attachments.maximumBytes)
                }
            } else {
                do throws(StoredFileNamed) { try ReplyFiles.checkNoStoredFile(message) } catch {
                    throw error.refusal(at: "/replies/\(index)")
                }
            }
            final.append(DecidedReply(id: id, kind: reply.kind, message: message))
        }
        return CheckedAnswer(outcome: outcome, replies: final, state: context.state.change, hold: hold)
    }

    /// Hands a conversation to a person, with a text for its customer; without `people` only the event ends.
    private func handOff(
        _ delivery: Delivery, reason: String, _ wish: Placement?, note: String?, _ answer: CheckedAnswer,
        _ stages: inout DeliveryStages
    ) async throws -> Handled {
        let result = DeliveryResult.handedOff(reason: reason)
        let hasQueues = handOffs.watch.settings[delivery.business]?.queues.isEmpty == false
        guard
            let text = try await handOffs.watch.text(
                in: ConversationID(business: delivery.business, customer: delivery.customer), wish: wish)
        else {
            return try await decide(delivery, result, answer, &stages)
        }
        let isServerText = answer.replies.isEmpty
        let announced = isServerText ? answer.adding(.text(text), to: delivery) : answer
        do {
            return try await decide(
                delivery, result, announced, waitsForPerson: true, wish: hasQueues ? wish : nil, note: note,
                by: isServerText ? .server : .handler, &stages)
        } catch StoreError.assignment(let refusal) {
            logger.warning(
                "hand-off to a person refused; the event is tried again",
                metadata: [
                    "business": "\(delivery.business.rawValue)", "delivery": "\(delivery.record)",
                    "reason": "\(refusal)",
                ])
            // Send neither the text nor the handler's replies: they would promise a person, but no person is
            // told.
            try await tryAgain(delivery, "the hand-off was refused: \(refusal)", asked: nil, &stages)
            return .attemptEnded
        }
    }

    /// Answers with the menu of the business instead of its handler.
    func answer(
        _ delivery: Delivery, _ menu: Reply, _ stages: inout DeliveryStages
    ) async throws -> Handled {
        stages.begin(.handle)
        let reply = try CheckedAnswer.check(
            menu, for: try capabilities(of: delivery), allowsClassicSignIn: false, at: "/people/menu")
        let answer = CheckedAnswer(outcome: .handled, replies: [], state: nil).adding(reply, to: delivery)
        return try await decide(delivery, .handled, answer, by: .server, &stages)
    }

    private func decide(
        _ delivery: Delivery, _ result: DeliveryResult, _ answer: CheckedAnswer,
        waitsForPerson: Bool = false, wish: Placement? = nil, note: String? = nil,
        by author: MessageAuthor = .handler, _ stages: inout DeliveryStages
    ) async throws -> Handled {
        var replies = answer.replies
        if replies.contains(where: { !$0.kind.isTyping }) {
            replies = try await opening.replies(before: delivery) + replies
        }
        let decided = DecidedOutcome(
            result, replies: replies, state: answer.state, waitsForPerson: waitsForPerson,
            placement: wish, note: note, author: author)
        defer { withExtendedLifetime(answer.hold) {} }
        // A decision that needs no separate record is written into the record of the delivery's end.
        if decided.needsRecord, try await !store.decide(delivery, decided) {
            stages.end(.ended("withPerson"))
            return .decided(.withPerson)
        }
        if let state = answer.state { attempts?.decide(delivery.record, state: state) }
        stages.end(.done)
        return .decided(result)
    }
}
