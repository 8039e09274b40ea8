import BusinessMessages
import MessageStore

/// Tells the observer about the stages of one delivery.
struct DeliveryStages: Sendable {
    private let delivery: Delivery
    private let observer: any StageObserver
    private var clock = StageClock()
    private var message: MessageID
    var kind: Kind?

    init(_ delivery: Delivery, _ observer: any StageObserver) {
        self.delivery = delivery
        self.observer = observer
        message = delivery.id
    }

    mutating func begin(_ stage: StageEvent.Stage) {
        clock.begin(stage)
        message = delivery.id
    }

    mutating func begin(_ stage: StageEvent.Stage, of reply: DecidedReply) {
        clock.begin(stage)
        message = reply.id
    }

    func end(_ result: StageEvent.Result) {
        observer.observe(
            StageEvent(
                stage: clock.stage, result: result, nanoseconds: clock.sinceBegun,
                business: delivery.business,
                message: message, delivery: delivery.record, kind: kind, attempt: delivery.attempt))
    }
}

extension StageEvent.Result {
    init(_ result: DeliveryResult) {
        switch result {
        case .handled: self = .done
        case .unhandled: self = .ended("unhandled")
        case .rejected: self = .ended("rejected")
        case .handedOff: self = .ended("handedOff")
        case .repeated: self = .ended("repeated")
        case .dropped: self = .ended("dropped")
        case .failed(let reason): self = .failed(reason: reason)
        }
    }
}

extension DeliveryResult {
    init(_ verdict: DecidedOutcome.Verdict) {
        switch verdict {
        case .handled: self = .handled
        case .rejected(let reason): self = .rejected(reason: reason)
        case .handedOff(let reason): self = .handedOff(reason: reason)
        }
    }
}
