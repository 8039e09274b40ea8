import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import HandlerKit
import Logging
import MessageStore

/// Delivers a recorded message to its handler: stages `fetch`, `route`, `handle` and `finish`.
///
/// A conversation has one delivery at a time, in order; a restart resumes after the last journalled step. A
/// delivery ends when its outcome is decided and durable; ``ReplySender`` sends its replies.
struct DeliveryPipeline: Sendable {
    let store: Store
    let attachments: AttachmentFetcher
    let replyFiles: ReplyFiles
    let handOffs: HandOffs
    let observer: any StageObserver
    let logger: Logger
    /// Releases the results of sign-ins; nil when the server offers no sign-ins.
    var signIns: SignInReleases?
    /// Finds the payments to which Apple's events belong; nil when the server offers no payments.
    var payments: PaymentResults?
    /// Records the calls of handlers for the inspector; nil without one.
    var attempts: InspectorAttempts?
    /// Slows handlers down, or stops them, for the inspector; nil without one.
    var levers: HandlerLevers?
    var retrySchedule = RetrySchedule()
    /// How many deliveries of one business may be in flight.
    var maximumInFlight = 256
    /// The maximum number of a conversation's lines that a handler gets, and their maximum bytes.
    var conversationLength = 50
    var maximumConversationBytes = 32 << 10
    /// The number of releases after transient errors before an attempt is counted; they take half a minute in
    /// all.
    var maximumPassing: UInt8 = 5

    /// How long an event waits for a handler that is unavailable for every event.
    var maximumUnavailability = Duration.seconds(72 * 3600)

    /// The number of process crashes after which a message becomes a dead letter.
    ///
    /// A crash counts only when this message was recorded or delivered alone.
    static let maximumCrashes = 3

    /// Delivers one business's messages until the store closes or the task is cancelled.
    func run(_ worker: BusinessWorker) async {
        let inFlight = AsyncSemaphore(maximumInFlight)
        await withTaskExecutorPreference(worker.executor) {
            await withDiscardingTaskGroup { group in
                while await inFlight.acquire() {
                    guard let delivery = await store.nextDelivery(for: worker.business) else { return }
                    group.addTask(executorPreference: worker.executor) {
                        await deliver(delivery, on: worker)
                        // Delivering the next one in this task costs less than a task for each delivery.
                        while !Task.isCancelled, let next = store.readyDelivery(for: worker.business) {
                            await deliver(next, on: worker)
                        }
                        inFlight.release()
                    }
                }
            }
        }
    }

    /// Finishes one delivery, or releases it for a retry.
    ///
    /// ``RecordPipeline`` has already recorded the delivery's message.
    func deliver(_ delivery: Delivery, on worker: BusinessWorker) async {
        var stages = DeliveryStages(delivery, observer)
        do {
            if let result = resultWithoutEvent(of: delivery) {
                return try await finish(delivery, result, &stages)
            }
            let event = try event(of: delivery, &stages)
            let delivery = try await fetch(delivery, event, &stages)
            if let decided = delivery.decided {
                // After the outcome is decided, the handler is not called again.
                try await store.rememberDecision(of: delivery)
                return try await finish(delivery, DeliveryResult(decided.verdict), &stages)
            }
            if try await handOffs.isLeftToPerson(delivery, event) {
                return try await finishWithPerson(delivery, event, &stages)
            }
            if case .repetition(let original)? = try await signIns?.meaning(of: event) {
                return try await finish(delivery, .repeated(of: original), &stages)
            }
            while true {
                guard let (business, responder) = try await responder(for: delivery, event, worker) else {
                    return try await finishWithPerson(delivery, event, &stages)
                }
                defer { business.leave() }
                // A person may have claimed the conversation while the delivery waited for its handler.
                if await store.isWithPerson(delivery) {
                    return try await finishWithPerson(delivery, event, &stages)
                }
                guard let handler = route(delivery, event, business, responder, &stages) else {
                    return try await finish(delivery, .unhandled, &stages)
                }
                switch try await handle(delivery, event, handler, worker, business, responder, &stages) {
                case .decided(.withPerson): return try await finishWithPerson(delivery, event, &stages)
                case .decided(let result): return try await finish(delivery, result, &stages)
                case .attemptEnded: return
                case .replaced: continue
                }
            }
        } catch {
            await fail(delivery, error, &stages)
        }
    }

    /// Returns the result of a delivery that ends before its event is read; nil for any other delivery.
    private func resultWithoutEvent(of delivery: Delivery) -> DeliveryResult? {
        // Checked before any step that may crash the process again.
        if delivery.crashes >= Self.maximumCrashes {
            return .failed(reason: "the process crashed three times during this delivery alone")
        }
        if delivery.decided == nil, let reason = store.reasonToPark(delivery.record) {
            return .failed(reason: reason)
        }
        return delivery.original.map { .repeated(of: $0) }
    }

    /// Ends a delivery whose conversation a person has.
    ///
    /// The conversation first gets the result of a sign-in or payment, so that the person can read it.
    private func finishWithPerson(
        _ delivery: Delivery, _ event: InboundEvent, _ stages: inout DeliveryStages
    ) async throws {
        if delivery.files == nil, !delivery.isReplay, !delivery.isReplyFailure {
            if let signIn = try await signIns?.recorded(event) {
                try await store.recordSignIn(delivery, signIn)
            } else if let payment = try await payments?.recorded(event) {
                try await store.recordPayment(delivery, payment)
            }
        }
        try await finish(delivery, .withPerson, &stages)
    }

    /// Returns the event of an ending delivery if it may belong to a sign-in; nil otherwise, and for an
    /// unreadable message.
    private static func authentication(in delivery: Delivery) -> InboundEvent? {
        guard !delivery.isReplyFailure, delivery.kind.map({ $0 == .authentication }) ?? true else {
            return nil
        }
        return try? delivery.event ?? decoded(delivery)
    }

    private static func decoded(_ delivery: Delivery) throws(JSONError) -> InboundEvent {
        InboundEvent.decode(
            message: try JSONDocument(delivery.message, limits: .stored), id: delivery.id,
            business: delivery.business, customer: delivery.customer,
            attributes: MessageAttributes(delivery.attributes))
    }

    /// Returns the event as it was decoded for recording; decodes it again when it is no longer in memory.
    private func event(of delivery: Delivery, _ stages: inout DeliveryStages) throws(JSONError)
        -> InboundEvent
    {
        if let event = delivery.event { return event }
        stages.begin(.decode)
        let event = try Self.decoded(delivery)
        stages.kind = event.kind
        return event
    }

    /// Returns the delivery with the results of downloading its message's attachments.
    ///
    /// They are downloaded once, and the results are journalled, so that no later attempt downloads them
    /// again.
    private func fetch(
        _ delivery: Delivery, _ event: InboundEvent, _ stages: inout DeliveryStages
    ) async throws -> Delivery {
        let wanted = delivery.isReplyFailure ? [] : event.attachments
        guard delivery.files == nil, !wanted.isEmpty else { return delivery }
        stages.begin(.fetch)
        let known = delivery.isReplay ? try knownFiles(of: delivery) : nil
        let hold = attachments.files.hold(for: delivery.business)
        let files = if let known { known } else { try await attachments.fetch(wanted, into: hold) }
        try await store.recordFiles(delivery, files)
        withExtendedLifetime(hold) {}
        let failure = files.lazy.compactMap { if case .failed(let reason) = $0 { reason } else { nil } }.first
        stages.end(failure.map { .failed(reason: $0) } ?? .done)
        var fetched = delivery
        fetched.files = files
        return fetched
    }

    /// Returns the recorded files of a replayed message, if all of them are still stored.
    ///
    /// Downloading them again could fail, because Apple may have deleted them long ago.
    private func knownFiles(of delivery: Delivery) throws -> [RecordedFile]? {
        let lines = try store.recentLines(of: delivery.business, delivery.customer, maximum: 1000)
        guard let line = lines.last(where: { $0.id == delivery.id && $0.direction == .inbound }),
            !line.files.isEmpty
        else { return nil }
        let areHere = line.files.allSatisfy { file in
            if case .stored(let sha256, _) = file { attachments.files.existing(sha256) != nil } else { false }
        }
        return areHere ? line.files : nil
    }

    /// Waits for a handler that accepts the event; the caller calls `leave()` on the business when the event
    /// has ended.
    ///
    /// Returns nil when a person takes the conversation during the wait.
    private func responder(
        for delivery: Delivery, _ event: InboundEvent, _ worker: BusinessWorker
    ) async throws -> (BusinessHandler, BusinessHandler.Responder)? {
        let subscription = subscription(of: delivery, event)
        store.beginWaitingForHandler(delivery)
        if let life = worker.current.life, life.isOutside || life.downSince != nil {
            store.suspend(delivery, isOutside: life.isOutside)
        }
        let found = try await handOffs.handler(for: delivery) {
            try await worker.responder(for: subscription)
        }
        await store.resume(delivery)
        return found
    }

    /// The subscription that a handler needs for the event.
    private func subscription(of delivery: Delivery, _ event: InboundEvent) -> Subscription {
        delivery.isReplyFailure ? .replyFailed : .kind(event.kind)
    }

    private func route(
        _ delivery: Delivery, _ event: InboundEvent, _ business: BusinessHandler,
        _ responder: BusinessHandler.Responder, _ stages: inout DeliveryStages
    ) -> (any Handler)? {
        stages.begin(.route)
        let subscription = subscription(of: delivery, event)
        let handler = responder.handler.flatMap { isSubscribed($0, to: subscription) ? $0 : nil }
        stages.end(handler == nil ? .ended("unhandled") : .done)
        if handler == nil, responder.handler != nil, !delivery.isReplyFailure,
            business.isFirstUnhandled(event.kind)
        {
            logger.warning(
                "the business has no handler for this kind of event; such events are only recorded",
                metadata: ["business": "\(business.slug)", "kind": "\(event.kind.rawValue)"])
        }
        return handler
    }

    /// The result of the stage `handle`.
    private enum Handled {
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
    private func handle(
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
            case .handoff(let reason, _):
                let reason = reason.cut(toBytes: Outcome.maximumReasonBytes)
                handled = try await handOff(delivery, reason: reason, checked, &stages)
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
        context.traceparent = TraceID(delivery.business, delivery.id).parent(
            delivery: delivery.record, attempt: delivery.attempt)
        return context
    }

    /// Returns the time at which the message first arrived; the record of a replay has a later time.
    private func firstReceived(_ delivery: Delivery) throws -> Timestamp {
        guard delivery.isReplay else { return delivery.receivedAt }
        let line = try store.inboundLine(of: delivery.id, from: delivery.customer, to: delivery.business)
        return line?.at ?? delivery.receivedAt
    }

    /// The last lines of the conversation, followed by its queued replies.
    private func conversation(of delivery: Delivery) -> Conversation {
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
            return lines.map(Conversation.Entry.init)
                + queued.filter { !ended.contains($0.reply.id) }.compactMap(Conversation.Entry.init)
        }
        return Conversation(reading: read) { [store] id in
            try store.inboundLine(of: id, from: delivery.customer, to: delivery.business)?.sequence
        }
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
        for (index, reply) in outcome.replies.enumerated() {
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
                    throw error.refusal(reply: index, maximumBytes: replyFiles.maximumBytes())
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
        _ delivery: Delivery, reason: String, _ answer: CheckedAnswer, _ stages: inout DeliveryStages
    ) async throws -> Handled {
        let verdict = DecidedOutcome.Verdict.handedOff(reason: reason)
        guard let text = handOffs.watch.text(of: delivery.business) else {
            return try await decide(delivery, verdict, answer, &stages)
        }
        let isServerText = answer.replies.isEmpty
        let announced = isServerText ? answer.adding(.text(text), to: delivery) : answer
        do {
            return try await decide(
                delivery, verdict, announced, waitsForPerson: true, by: isServerText ? .server : .handler,
                &stages)
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

    private func decide(
        _ delivery: Delivery, _ verdict: DecidedOutcome.Verdict, _ answer: CheckedAnswer,
        waitsForPerson: Bool = false, by author: MessageAuthor = .handler, _ stages: inout DeliveryStages
    ) async throws -> Handled {
        let decided = DecidedOutcome(
            verdict, replies: answer.replies, state: answer.state, waitsForPerson: waitsForPerson,
            author: author)
        defer { withExtendedLifetime(answer.hold) {} }
        // A decision that needs no separate record is written into the record of the delivery's end.
        if decided.needsRecord, try await !store.decide(delivery, decided) {
            stages.end(.ended("withPerson"))
            return .decided(.withPerson)
        }
        if let state = answer.state { attempts?.decide(delivery.record, state: state) }
        stages.end(.done)
        return .decided(DeliveryResult(verdict))
    }

    func finish(
        _ delivery: Delivery, _ result: DeliveryResult, _ stages: inout DeliveryStages
    ) async throws {
        stages.begin(.finish)
        try await store.finish(delivery, result: result)
        if let signIns, let event = Self.authentication(in: delivery) { await signIns.end(event) }
        guard delivery.isReplyFailure, result.reasonOfDeadLetter != nil else {
            return stages.end(StageEvent.Result(result))
        }
        stages.end(.ended("dropped"))
        var metadata: Logger.Metadata = [
            "business": "\(delivery.business.rawValue)", "delivery": "\(delivery.record)",
        ]
        // The reason of a rejection is the handler's text, which may quote the customer.
        if case .failed(let reason) = StageEvent.Result(result) { metadata["reason"] = "\(reason)" }
        logger.warning(
            "handler did not accept the notice of a failed reply; the notice is dropped", metadata: metadata)
    }

    private func tryAgain(
        _ delivery: Delivery, _ reason: String, asked: Duration?, _ stages: inout DeliveryStages
    ) async throws {
        // A requested stop costs no attempt: the stop may be what made the handler fail.
        if store.isStopping { return release(delivery, reason, &stages) }
        guard let delay = retrySchedule.delay(after: delivery.attempt, asked: asked) else {
            return try await finish(delivery, .failed(reason: reason), &stages)
        }
        postpone(delivery, delay, reason, &stages)
    }

    func postpone(
        _ delivery: Delivery, _ delay: Duration, _ reason: String, _ stages: inout DeliveryStages
    ) {
        store.postpone(
            delivery, after: delay, parks: retrySchedule.parks(after: delivery.attempt, for: delay))
        stages.end(.postponed(milliseconds: delay.wholeMilliseconds, reason: reason))
    }

    /// Releases a delivery without counting an attempt.
    ///
    /// The delivery is leased again in its place, after a pause chosen by the store.
    private func release(_ delivery: Delivery, _ reason: String, _ stages: inout DeliveryStages) {
        _ = store.release(delivery)
        stages.end(.released(reason: reason))
    }

    /// Handles an error: the store failed, the message is unreadable, or the server is stopping.
    func fail(_ delivery: Delivery, _ error: any Error, _ stages: inout DeliveryStages) async {
        let isStopping = Task.isCancelled
        do {
            switch error {
            case let error as JSONError:
                // The delivery becomes a dead letter, because a retry cannot succeed. The conversation has
                // the message's line.
                return try await finish(
                    delivery, .failed(reason: "the message is unreadable: \(error)"), &stages)
            case is CancellationError where !isStopping:
                return release(delivery, "no handler accepts events", &stages)
            case let error as StoreError:
                switch (error.disposition, isStopping) {
                case (.retryLater, _): return release(delivery, "\(error)", &stages)
                case (.countAttempt(let reason), false):
                    return try await tryAgain(delivery, reason, asked: nil, &stages)
                case (.retryBriefly(let reason), false):
                    guard let pause = store.release(delivery, atMost: maximumPassing) else {
                        return try await tryAgain(delivery, reason, asked: nil, &stages)
                    }
                    return stages.end(.postponed(milliseconds: pause.wholeMilliseconds, reason: reason))
                case (.ended, _): return stages.end(.ended("ended without its handler"))
                case (.restart(let reason), false):
                    return stages.end(.failed(reason: "\(reason); resuming after a restart"))
                case (.stop, _), (_, true): break
                }
            default:
                let reason = HandlerFailure(error).reason
                if !isStopping { return try await tryAgain(delivery, reason, asked: nil, &stages) }
            }
        } catch let error as StoreError where error != .closed {
            // The delivery must end in some way, or it would stay leased until a restart.
            return await fail(delivery, error, &stages)
        } catch {
            // The store closed meanwhile: handled below.
        }
        // Nothing is decided, so the journal keeps the delivery; the stop logs how many deliveries are unfinished.
        stages.end(.released(reason: "interrupted; it is resumed after a restart"))
    }
}

extension RefusedAnswer {
    /// Creates the description of a refusal for the journal.
    ///
    /// Its problems may quote the answer; its reason, which is logged, quotes nothing.
    fileprivate init(_ refusal: AnswerRefusal) {
        let problems = JSONWriter.value(reservingCapacity: 256) { writer in
            writer.array { writer in
                for problem in refusal.problems.prefix(Self.maximumProblems) { problem.write(to: &writer) }
            }
        }
        self.init(reason: refusal.reason, problems: problems)
    }

    private static let maximumProblems = 100
}

extension Delivery {
    /// The reason why `event` is unrecognized; nil when it has another kind.
    fileprivate func unrecognizedReason(of event: InboundEvent) -> UnrecognizedReason? {
        guard case .unrecognized(let content) = event.content, !isReplyFailure else { return nil }
        if content.excess != nil { return .tooManyParts }
        guard case .failed(let reason) = reference else { return .unknownKind }
        return reason.hasPrefix(Resolution.expiredPrefix) ? .expiredReference : .failedReference
    }
}
