import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import HandlerKit
import Logging
import MessageStore

/// The way of a durable message to its handler, and of the replies to the gateway: stages 6 to 11.
///
/// One delivery of a conversation at a time, in order; a restart goes on behind the last step that was journalled.
struct DeliveryPipeline: Sendable {
    let store: Store
    let gateway: GatewayClient
    let attachments: AttachmentFetcher
    let replyFiles: ReplyFiles
    let observer: any StageObserver
    let logger: Logger
    /// As those of the lanes, for messages that answer no event.
    let executor = BlockingTaskExecutor(maximumThreads: max(2, ProcessorCount.available()))
    let recentChoices: RecentChoices
    /// Who waits for the end of a message that the business sends of its own accord.
    let outcomes = SendOutcomes()
    var retrySchedule = RetrySchedule()
    /// How many deliveries of one business may be under way, handlers and replies together.
    var maximumInFlight = 256
    /// How many of a conversation's latest lines a handler is given, and how many bytes of them.
    var conversationLength = 50
    var maximumConversationBytes = 32 << 10
    /// How often a delivery is given back for trouble that may pass, half a minute in all, before an attempt counts.
    var maximumPassing: UInt8 = 5

    private static let maximumCrashes = 3

    /// Delivers one business's messages until the store closes or the task is cancelled.
    func run(_ lane: BusinessLane) async {
        let inFlight = AsyncSemaphore(maximumInFlight)
        await withTaskExecutorPreference(lane.executor) {
            await withDiscardingTaskGroup { group in
                while await inFlight.take() {
                    guard let delivery = await store.nextDelivery(for: lane.business) else { return }
                    group.addTask(executorPreference: lane.executor) {
                        await deliver(delivery, on: lane)
                        inFlight.giveBack()
                    }
                }
            }
        }
    }

    /// Brings one delivery to an end, or gives it back to be tried again.
    ///
    /// Stage 6 is behind it: a message with a reference is leased when ``PayloadResolver`` is done with it.
    func deliver(_ delivery: Delivery, on lane: BusinessLane) async {
        var stages = DeliveryStages(delivery, observer)
        do {
            if let kind = delivery.outboundKind { return try await send(delivery, of: kind, &stages) }
            let event = try decode(delivery, &stages)
            let original = try original(of: event, delivery)
            let delivery = try await fetch(delivery, event, &stages)
            try await record(delivery, event, repeating: original, &stages)
            if let original { return try await finish(delivery, .repeated(of: original), &stages) }
            guard let outcome = try await outcome(of: delivery, event, lane, &stages) else { return }
            guard try await reply(delivery, outcome, &stages) != nil else { return }
            try await finish(delivery, DeliveryResult(outcome.verdict), &stages)
        } catch {
            await giveUp(delivery, error, &stages)
        }
    }

    /// Brings a message that answers no event to its end, or gives it back to be tried again.
    func deliver(outbound delivery: Delivery) async {
        var stages = DeliveryStages(delivery, observer)
        do {
            try await send(delivery, of: delivery.outboundKind ?? .unrecognized, &stages)
        } catch {
            await giveUp(delivery, error, &stages)
        }
    }

    /// Sends a message that answers no event: it was decided when it was stored.
    private func send(_ delivery: Delivery, of kind: Kind, _ stages: inout DeliveryStages) async throws {
        stages.kind = kind
        try await store.recordInbound(delivery, kind: kind, message: delivery.message)
        guard let outcome = delivery.decided, let results = try await reply(delivery, outcome, &stages)
        else { return }
        try await finish(delivery, results.values.lazy.compactMap(\.failure).first ?? .handled, &stages)
    }

    /// Never fails for what a customer can send: the journal holds nothing but validated JSON.
    ///
    /// A payload that was resolved may break a limit.
    private func decode(_ delivery: Delivery, _ stages: inout DeliveryStages) throws(JSONError)
        -> InboundEvent
    {
        stages.begin(.decode)
        let message = try JSONDocument(delivery.message, limits: .stored)
        let event = InboundEvent.decode(
            message: message, id: delivery.id, business: delivery.business, customer: delivery.customer,
            attributes: MessageAttributes(delivery.attributes))
        stages.kind = event.kind
        stages.end(event.excess.map { .ended("unrecognized: \($0)") } ?? .done)
        return event
    }

    /// The message that the event says once more; such events are recorded and not handed over.
    ///
    /// Not asked of what was decided: then it was none, and never of a replay.
    private func original(of event: InboundEvent, _ delivery: Delivery) throws -> MessageID? {
        guard delivery.decided == nil, !delivery.isReplay,
            let fingerprint = Repetition.fingerprint(of: event, delivery),
            !recentChoices.isFirst(fingerprint, receivedAt: delivery.receivedAt)
        else { return nil }
        let lines = try store.recentLines(
            of: delivery.business, delivery.customer, maximum: Repetition.maximumLines)
        return Repetition.original(of: event, delivery, in: lines)
    }

    /// The delivery, with what became of the files that came with its message; fetched once and journalled, so that no
    /// later attempt fetches them again.
    private func fetch(
        _ delivery: Delivery, _ event: InboundEvent, _ stages: inout DeliveryStages
    ) async throws -> Delivery {
        guard delivery.files == nil, case .text(let text) = event.content, !text.attachments.isEmpty else {
            return delivery
        }
        stages.begin(.fetch)
        let known = delivery.isReplay ? try knownFiles(of: delivery) : nil
        let files =
            if let known { known } else {
                try await attachments.fetch(text.attachments, for: delivery.business)
            }
        try await store.recordFiles(delivery, files)
        let failure = files.lazy.compactMap { if case .failed(let reason) = $0 { reason } else { nil } }.first
        stages.end(failure.map { .failed(reason: $0) } ?? .done)
        var fetched = delivery
        fetched.files = files
        return fetched
    }

    /// What the line of a message that is handed over again says of its files, if all of them are still here: Apple may
    /// have forgotten them long ago.
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

    private func record(
        _ delivery: Delivery, _ event: InboundEvent, repeating original: MessageID?,
        _ stages: inout DeliveryStages
    ) async throws {
        stages.begin(.record)
        try await store.recordInbound(
            delivery, kind: event.kind, message: delivery.message, repeating: original,
            files: delivery.files ?? [])
        stages.end(.done)
    }

    /// The outcome: what an earlier attempt decided, or what somebody says now; nil when the delivery was ended or is
    /// to come again.
    ///
    /// Decision 4: once it is decided nobody is asked again.
    private func outcome(
        of delivery: Delivery, _ event: InboundEvent, _ lane: BusinessLane, _ stages: inout DeliveryStages
    ) async throws -> DecidedOutcome? {
        if let decided = delivery.decided {
            try await store.rememberDecision(of: delivery)
            return decided
        }
        while true {
            let (business, responder) = try await lane.responder(for: event.kind)
            defer { business.leave() }
            guard let handler = route(event, business, responder, &stages) else {
                try await finish(delivery, .unhandled, &stages)
                return nil
            }
            do {
                return try await handle(delivery, event, handler, lane, business, responder, &stages)
            } catch is HandlerSlots.Closed {
                // It waited for a slot of a handler that was replaced: no attempt was made.
            }
        }
    }

    private func route(
        _ event: InboundEvent, _ business: BusinessHandler, _ responder: BusinessHandler.Responder,
        _ stages: inout DeliveryStages
    ) -> (any Handler)? {
        stages.begin(.route)
        let handler = responder.handler.flatMap { isSubscribed($0, to: event.kind) ? $0 : nil }
        stages.end(handler == nil ? .ended("unhandled") : .done)
        if handler == nil, responder.handler != nil, business.isFirstUnhandled(event.kind) {
            logger.warning(
                "no handler for this kind; such events are only recorded",
                metadata: ["business": "\(business.slug)", "kind": "\(event.kind.rawValue)"])
        }
        return handler
    }

    /// What the handler says now; nil when it is to be asked again.
    ///
    /// The outcome, the final bytes of every reply and the state are durable before the first reply is sent.
    private func handle(
        _ delivery: Delivery, _ event: InboundEvent, _ handler: any Handler, _ lane: BusinessLane,
        _ business: BusinessHandler, _ responder: BusinessHandler.Responder, _ stages: inout DeliveryStages
    ) async throws -> DecidedOutcome? {
        stages.begin(.handle)
        if delivery.crashes >= Self.maximumCrashes {
            try await finish(
                delivery, .failed(reason: "the process ended three times while the handler had it"), &stages)
            return nil
        }
        var context = try await context(of: delivery, event, business)
        var answer = try await ask(handler, context, delivery, lane, business.deadline, responder.slots)
        if case .failure = answer, !responder.isFallback,
            let fallback = await business.fallbackResponder(for: event.kind), let handler = fallback.handler
        {
            context = try await self.context(of: delivery, event, business)
            answer = try await ask(handler, context, delivery, lane, business.deadline, fallback.slots)
        }
        switch answer {
        case .success(.handled(let replies)):
            return try await decide(delivery, .handled, replies, context, &stages)
        case .success(.reject(let reason)):
            return try await decide(delivery, .rejected(reason: reason), [], context, &stages)
        case .success(.handoff(let reason)):
            return try await decide(delivery, .handedOff(reason: reason), [], context, &stages)
        case .success(.retry(let after)):
            try await tryAgain(delivery, "the handler asked for it", asked: after, &stages)
        case .failure(.notAsked(let error)): throw StoreError.unavailable(path: "handlers", error)
        case .failure(let failure):
            try await tryAgain(delivery, failure.reason, asked: nil, &stages)
        }
        return nil
    }

    private func context(
        of delivery: Delivery, _ event: InboundEvent, _ business: BusinessHandler
    ) async throws -> Context {
        try store.checkIntact(delivery.business, delivery.customer)
        let state = try await store.state(of: delivery.business, delivery.customer)
        return Context(
            event: event, conversation: conversation(of: delivery),
            state: ConversationState(try state.map { try JSONDocument($0).root }),
            files: attachments.files.handlersView(of: delivery.files ?? []),
            deliveryID: DeliveryID("\(delivery.record)"), attempt: delivery.attempt,
            isAfterGap: delivery.isAfterGap, deadline: .now + business.deadline, logger: business.logger)
    }

    /// Nobody else writes to the conversation while the delivery is out, so that it says later what it says now.
    private func conversation(of delivery: Delivery) -> Conversation {
        Conversation { [store, conversationLength, maximumConversationBytes] in
            let lines = try store.recentLines(
                of: delivery.business, delivery.customer, maximum: conversationLength,
                maximumBytes: maximumConversationBytes)
            return lines.map(Conversation.Entry.init)
        }
    }

    private func ask(
        _ handler: any Handler, _ context: Context, _ delivery: Delivery, _ lane: BusinessLane,
        _ deadline: Duration, _ slots: HandlerSlots
    ) async throws -> Result<Outcome, HandlerFailure> {
        let isSuspect = delivery.crashes > 0
        if isSuspect, await !lane.suspects.take() { throw CancellationError() }
        defer { if isSuspect { lane.suspects.giveBack() } }
        let answer = try await slots.run(within: deadline, on: lane.threads) {
            () async -> Result<Outcome, HandlerFailure> in
            // Here, where somebody may wait for the disk; not when it was given up before it began.
            if !Task.isCancelled { store.beginHandling(delivery) }
            do {
                // From here on, however long it has waited for its slot.
                let context = context.beginning(deadline: .now + deadline)
                let outcome = try await dispatch(context, to: handler) ?? .handled
                let stateBytes = context.state.change?.count ?? 0
                guard stateBytes <= ConversationState.maximumBytes else { return .failure(.stateTooLarge) }
                return .success(outcome)
            } catch {
                return .failure(HandlerFailure(error))
            }
        }
        if let failure = context.conversation.failure { throw failure }
        return answer ?? .failure(.overran)
    }

    private func decide(
        _ delivery: Delivery, _ verdict: DecidedOutcome.Verdict, _ replies: [Reply], _ context: Context,
        _ stages: inout DeliveryStages
    ) async throws -> DecidedOutcome? {
        var final: [DecidedReply] = []
        for reply in replies {
            let id = MessageID.random()
            var message = reply.encode(id: id, from: delivery.business, to: delivery.customer)
            if reply.hasFiles {
                do { message = try await replyFiles.keep(message) } catch let error as SystemError {
                    // The disk's trouble, not the handler's.
                    if error.isDiskWide || error.mayPass {
                        throw StoreError.unavailable(path: "attachments", error)
                    }
                    try await tryAgain(delivery, "a reply's file: \(error)", asked: nil, &stages)
                    return nil
                }
            }
            final.append(DecidedReply(id: id, kind: reply.kind, message: message))
        }
        let decided = DecidedOutcome(verdict, replies: final, state: context.state.change)
        // With nothing to send and nothing to keep, the end of the delivery says all that was decided.
        if !final.isEmpty || decided.state != nil { try await store.decide(delivery, decided) }
        stages.end(.done)
        return decided
    }

    func nextDelay(
        _ delivery: Delivery, asked: Duration? = nil, atLeast: Duration? = nil
    ) -> Duration? {
        retrySchedule.delay(
            after: delivery.attempt, asked: asked, atLeast: atLeast, random: .random(in: 0...1))
    }

    func finish(
        _ delivery: Delivery, _ result: DeliveryResult, _ stages: inout DeliveryStages
    ) async throws {
        stages.begin(.finish)
        try await store.finish(delivery, result: result)
        stages.end(StageEvent.Result(result))
    }

    private func tryAgain(
        _ delivery: Delivery, _ reason: String, asked: Duration?, _ stages: inout DeliveryStages
    ) async throws {
        guard let delay = nextDelay(delivery, asked: asked) else {
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

    /// Nothing was tried that counts: it comes again in its place, after a pause that the store chooses.
    private func giveBack(_ delivery: Delivery, _ reason: String, _ stages: inout DeliveryStages) {
        _ = store.giveBack(delivery)
        stages.end(.givenBack(reason: reason))
    }

    /// The store failed, the message cannot be read, or the server is on its way out.
    func giveUp(_ delivery: Delivery, _ error: any Error, _ stages: inout DeliveryStages) async {
        do {
            switch error {
            case let error as JSONError:
                // It will not read better another time: a dead letter, and a line in its conversation.
                try await store.recordInbound(delivery, kind: .unrecognized, message: delivery.message)
                return try await finish(delivery, .failed(reason: "it cannot be read: \(error)"), &stages)
            case let error as StoreError where error.isDamage && !Task.isCancelled:
                let reason = error.isStates ? "\(error)" : "its conversation is damaged"
                return try await tryAgain(delivery, reason, asked: nil, &stages)
            case let error as StoreError where error.isTransient:
                return giveBack(delivery, "\(error)", &stages)
            case let error as StoreError where error.mayPass && !Task.isCancelled:
                guard let pause = store.giveBack(delivery, atMost: maximumPassing) else { fallthrough }
                return stages.end(.postponed(milliseconds: pause.wholeMilliseconds, reason: "\(error)"))
            case StoreError.unavailable where !Task.isCancelled:
                // A file's own trouble: it must not hold up its conversation for ever.
                return try await tryAgain(delivery, "\(error)", asked: nil, &stages)
            case let error as StoreError where error != .closed && !Task.isCancelled:
                return stages.end(.failed(reason: "\(error); it goes on after a restart"))
            case is StoreError: break
            case is CancellationError where !Task.isCancelled:
                return giveBack(delivery, "nobody takes events any more", &stages)
            default:
                if !Task.isCancelled { return try await tryAgain(delivery, "\(error)", asked: nil, &stages) }
            }
        } catch let error as StoreError where error != .closed {
            // Never as if it were interrupted: it would stay out for the rest of this life.
            return await giveUp(delivery, error, &stages)
        } catch {
            // The store closes meanwhile: as below.
        }
        // Nothing is decided, the journal keeps the delivery; who stops says how many there are.
        stages.end(.givenBack(reason: "interrupted; it goes on after a restart"))
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        Int(components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000)
    }
}

extension ReplyResult {
    /// What becomes of a message of the business's own that was not sent, a dead letter; nil when it was.
    fileprivate var failure: DeliveryResult? {
        switch self {
        case .accepted: nil
        case .refused(let status, let reason): .failed(reason: "refused (\(status)): \(reason)")
        case .failed(let reason): .failed(reason: reason)
        }
    }
}

extension Context {
    /// The same, for a call that begins now; it shares the state that the handler changes.
    fileprivate func beginning(deadline: ContinuousClock.Instant) -> Context {
        Context(
            event: event, conversation: conversation, state: state, files: files, deliveryID: deliveryID,
            attempt: attempt, isAfterGap: isAfterGap, deadline: deadline, logger: logger)
    }
}
