import BusinessMessages
import MessageStore

/// Records a durable message in its conversation: stages `decode` and `record`, after `resolve` for a reference.
///
/// Runs on the executor of the conversation's partition, in the order of each conversation, independent of
/// handlers, attachments and the gateway.
struct RecordPipeline: Sendable {
    let store: Store
    let observer: any StageObserver
    let recentAnswers: RecentAnswers
    let handOffs: HandOffs
    let notices: Notices
    /// Answers for handlers that take their time.
    let firstAnswers: FirstAnswers
    let configuration: CurrentConfiguration

    /// Writes the message's line; throws a disk error, after which the caller calls this method again.
    func record(_ message: UnrecordedMessage) throws -> RecordedLine {
        var stages = DeliveryStages(message, observer)
        // An internal message is of no kind of messages.
        if message.isInternal {
            // Sent also while the handler is down. A failure is ignored, because the delivery confirms again.
            try? notices.confirm(message.message, message.id, of: message.business, message.customer)
            return try write(message, as: .unrecognized, &stages)
        }
        // Do not decode the message, because that may crash the process again; the delivery becomes a dead
        // letter.
        if message.crashes >= DeliveryPipeline.maximumCrashes {
            return try write(message, as: .unrecognized, &stages)
        }
        guard let event = decode(message, &stages) else {
            // The delivery becomes a dead letter.
            return try write(message, as: .unrecognized, &stages)
        }
        let original = try original(of: event, message)
        let line = try write(message, as: event.kind, &stages, repeating: original, event)
        if original == nil {
            handOffs.record(event, of: message)
            notices.record(event, of: message)
        }
        if let begins = line.begins { firstAnswers.schedule(message, beginning: begins) }
        return line
    }

    /// Decodes a message; nil when its resolved payload exceeds a limit.
    ///
    /// Every other message succeeds, because all other JSON in the journal is valid.
    private func decode(_ message: UnrecordedMessage, _ stages: inout DeliveryStages) -> InboundEvent? {
        stages.begin(.decode)
        let event: InboundEvent
        do throws(JSONError) {
            event = try InboundEvent(message)
        } catch {
            stages.end(.failed(reason: "the message is unreadable: \(error)"))
            return nil
        }
        stages.kind = event.kind
        stages.end(event.excess.map { .ended("unrecognized: \($0)") } ?? .done)
        return event
    }

    /// Returns the recent message that the event repeats; a repetition is recorded, but no handler is called
    /// for it.
    ///
    /// Returns nil when a handler already decided about the event in an earlier process.
    private func original(of event: InboundEvent, _ message: UnrecordedMessage) throws -> MessageID? {
        if message.isDecided { return nil }
        return try recentAnswers.original(
            of: event, message,
            lines: {
                try store.recentLines(
                    of: message.business, message.customer, maximum: RecentAnswers.maximumLines)
            },
            queued: { store.queuedReplies(of: message.business, message.customer) })
    }

    private func write(
        _ message: UnrecordedMessage, as kind: Kind, _ stages: inout DeliveryStages,
        repeating original: MessageID? = nil, _ event: InboundEvent? = nil
    ) throws -> RecordedLine {
        stages.begin(.record)
        let line = try store.write(
            message, as: kind, repeating: original, event: event,
            silence: configuration.silence(of: message.business))
        stages.end(.done)
        return line
    }
}

extension InboundEvent {
    /// Decodes a message for recording.
    fileprivate init(_ message: UnrecordedMessage) throws(JSONError) {
        self = InboundEvent.decode(
            message: try JSONDocument(message.message, limits: .stored), id: message.id,
            business: message.business, customer: message.customer,
            attributes: MessageAttributes(message.attributes))
    }
}
