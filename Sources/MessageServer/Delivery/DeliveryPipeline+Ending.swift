import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import GatewayClient
import HandlerKit
import Logging
import MessageStore

/// The ends of deliveries and of attempts.
extension DeliveryPipeline {
    func finish(
        _ delivery: Delivery, _ result: DeliveryResult, _ stages: inout DeliveryStages
    ) async throws {
        stages.begin(.finish)
        try await store.finish(delivery, result: result)
        if let signIns, let event = Self.authentication(in: delivery) { await signIns.end(event) }
        guard delivery.isReplyFailure, result.status.isDeadLetter else {
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

    func tryAgain(
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
    func release(_ delivery: Delivery, _ reason: String, _ stages: inout DeliveryStages) {
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
