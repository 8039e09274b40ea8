import BusinessMessages
import MessageStore

/// Reports the stages of one message, after the 200 to Apple, to the observer.
struct DeliveryStages: Sendable {
    private let record: UInt64
    private let business: BusinessID
    private let message: MessageID
    private var inReplyTo: MessageID?
    private let attempt: Int?
    private let observer: any StageObserver
    private var clock = StageClock()
    var kind: Kind?
    /// The recorded state of the payment that the message ends.
    var payment: String?
    /// The customer and the size in bytes, for an observer that wants details.
    private var details: (customer: CustomerID, bytes: Int)?

    init(_ delivery: Delivery, _ observer: any StageObserver) {
        record = delivery.record
        business = delivery.business
        message = delivery.id
        attempt = delivery.attempt
        kind = delivery.kind
        self.observer = observer
        clock.begin(.route)
        if observer.wantsDetails { details = (delivery.customer, delivery.message.count) }
    }

    init(_ message: UnrecordedMessage, _ observer: any StageObserver) {
        record = message.record
        business = message.business
        self.message = message.id
        attempt = nil
        self.observer = observer
        clock.begin(.decode)
        if observer.wantsDetails { details = (message.customer, message.message.count) }
    }

    /// The stages of sending a reply.
    init(_ entry: OutboxEntry, _ observer: any StageObserver) {
        record = entry.id.record
        business = entry.business
        message = entry.reply.id
        inReplyTo = entry.inReplyTo
        attempt = entry.attempts + 1
        kind = entry.reply.kind
        self.observer = observer
        clock.begin(.reply)
        if observer.wantsDetails { details = (entry.customer, entry.reply.message.count) }
    }

    mutating func begin(_ stage: StageEvent.Stage) { clock.begin(stage) }

    /// Ends the stage; `status` is the HTTP status of the gateway's answer.
    func end(_ result: StageEvent.Result, status: Int? = nil) {
        observer.observe(
            StageEvent(
                stage: clock.stage, result: result, nanoseconds: clock.sinceBegun, business: business,
                message: message, inReplyTo: inReplyTo, delivery: record, kind: kind, attempt: attempt,
                customer: details?.customer, bytes: details?.bytes,
                status: details == nil ? nil : status, payment: payment))
    }
}

extension StageEvent.Result {
    init(_ result: DeliveryResult) {
        switch result.status {
        case .handled: self = .done
        case .failed: self = .failed(reason: result.reason ?? "")
        default: self = .ended(result.status.rawValue)
        }
    }
}
