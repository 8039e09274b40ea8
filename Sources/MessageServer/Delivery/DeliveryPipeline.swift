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
    let notices: Notices
    /// Adds what comes before the first automatic message of a conversation.
    let opening: Opening
    let configuration: CurrentConfiguration
    let observer: any StageObserver
    let logger: Logger
    /// Releases the results of sign-ins; nil when the server offers no sign-ins.
    var signIns: SignInReleases?
    /// Finds the payments to which Apple's events belong; nil when the server offers no payments.
    var payments: PaymentResults?
    /// Records the calls of handlers for the inspector; nil without one.
    var attempts: InspectorAttempts?
    /// Slows handlers down, or stops them, for the inspector or a review; nil without either.
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
                return try await finish(delivery, decided.result, &stages)
            }
            if delivery.isInternal {
                try await onDisk {
                    try notices.confirm(
                        delivery.message, delivery.id, of: delivery.business, delivery.customer)
                }
            }
            if try await notices.record(event, of: delivery) {
                return try await finish(delivery, .withPerson, &stages)
            }
            if try await handOffs.isLeftToPerson(delivery, event) {
                return try await finishWithPerson(delivery, event, &stages)
            }
            if !delivery.isReplyFailure, !delivery.isReplay, !delivery.isInternal,
                let menu = handOffs.menu(for: event)
            {
                guard case .decided(let result) = try await answer(delivery, menu, &stages),
                    result == .handled
                else { return try await finishWithPerson(delivery, event, &stages) }
                return try await finish(delivery, .handled, &stages)
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
                    return try await finish(delivery, delivery.isInternal ? .withPerson : .unhandled, &stages)
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
        // People have read the line; no handler gets it.
        if delivery.isInternal, Consent(message: delivery.message) == nil { return .withPerson }
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
                try await store.recordResults(delivery, signIn: signIn)
            } else if let payment = try await payments?.recorded(event) {
                try await store.recordResults(delivery, payment: payment)
            }
        }
        try await finish(delivery, .withPerson, &stages)
    }

    /// Returns the event of an ending delivery if it may belong to a sign-in; nil otherwise, and for an
    /// unreadable message.
    static func authentication(in delivery: Delivery) -> InboundEvent? {
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
    func event(of delivery: Delivery, _ stages: inout DeliveryStages) throws(JSONError)
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
        try await store.recordResults(delivery, files: files)
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
    func responder(
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
    func subscription(of delivery: Delivery, _ event: InboundEvent) -> Subscription {
        delivery.isInternal ? .consent : delivery.isReplyFailure ? .replyFailed : .kind(event.kind)
    }

    private func route(
        _ delivery: Delivery, _ event: InboundEvent, _ business: BusinessHandler,
        _ responder: BusinessHandler.Responder, _ stages: inout DeliveryStages
    ) -> (any Handler)? {
        stages.begin(.route)
        let subscription = subscription(of: delivery, event)
        let handler = responder.handler.flatMap { isSubscribed($0, to: subscription) ? $0 : nil }
        stages.end(handler == nil ? .ended("unhandled") : .done)
        if handler == nil, responder.handler != nil, !delivery.isReplyFailure, !delivery.isInternal,
            business.isFirstUnhandled(event.kind)
        {
            logger.warning(
                "the business has no handler for this kind of event; such events are only recorded",
                metadata: ["business": "\(business.slug)", "kind": "\(event.kind.rawValue)"])
        }
        return handler
    }
}

extension RefusedAnswer {
    /// Creates the description of a refusal for the journal.
    ///
    /// Its problems may quote the answer; its reason, which is logged, quotes nothing.
    init(_ refusal: AnswerRefusal) {
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
    func unrecognizedReason(of event: InboundEvent) -> UnrecognizedReason? {
        guard case .unrecognized(let content) = event.content, !isReplyFailure else { return nil }
        if content.excess != nil { return .tooManyParts }
        guard let reason = referenceFailure else { return .unknownKind }
        return reason.hasPrefix(Resolution.expiredPrefix) ? .expiredReference : .failedReference
    }
}
