import BalloonJSON
import BusinessMessages
import MessageStore

/// The way of a durable message into its conversation: stages `decode` and `record`, after `resolve` where it has a reference.
///
/// Runs on the executor of the conversation's partition, one message of a conversation after the other, whatever handlers,
/// attachments and the gateway do.
struct RecordPipeline: Sendable {
    let store: Store
    let observer: any StageObserver
    let recentChoices: RecentChoices

    /// Writes the message's line; throws when the disk refuses, and is called again then.
    func record(_ message: UnrecordedMessage) throws -> RecordedLine {
        var stages = DeliveryStages(message, observer)
        guard let event = decode(message, &stages) else {
            // The delivery ends as a dead letter.
            return try write(message, as: .unrecognized, &stages)
        }
        let original = try original(of: event, message)
        return try write(message, as: event.kind, &stages, repeating: original, event)
    }

    /// Nil for a payload that was resolved and breaks a limit; the journal holds nothing but validated JSON.
    private func decode(_ message: UnrecordedMessage, _ stages: inout DeliveryStages) -> InboundEvent? {
        stages.begin(.decode)
        let event: InboundEvent
        do throws(JSONError) {
            event = try InboundEvent(message)
        } catch {
            stages.end(.failed(reason: "it cannot be read: \(error)"))
            return nil
        }
        stages.kind = event.kind
        stages.end(event.excess.map { .ended("unrecognized: \($0)") } ?? .done)
        return event
    }

    /// The message of moments before that the event repeats; such events are recorded and no handler is asked.
    ///
    /// Not looked for when a handler decided about it in an earlier life: then it was none.
    private func original(of event: InboundEvent, _ message: UnrecordedMessage) throws -> MessageID? {
        guard !message.isDecided,
            let fingerprint = Repetition.fingerprint(of: event, in: message.business, message.customer),
            !recentChoices.isFirst(fingerprint, receivedAt: message.receivedAt)
        else { return nil }
        let lines = try store.recentLines(
            of: message.business, message.customer, maximum: Repetition.maximumLines)
        return Repetition.original(of: event, message, in: lines)
    }

    private func write(
        _ message: UnrecordedMessage, as kind: Kind, _ stages: inout DeliveryStages,
        repeating original: MessageID? = nil, _ event: InboundEvent? = nil
    ) throws -> RecordedLine {
        stages.begin(.record)
        let line = try store.write(message, as: kind, repeating: original, event: event)
        stages.end(.done)
        return line
    }
}

extension InboundEvent {
    /// Decodes a message that is about to be recorded.
    fileprivate init(_ message: UnrecordedMessage) throws(JSONError) {
        self = InboundEvent.decode(
            message: try JSONDocument(message.message, limits: .stored), id: message.id,
            business: message.business, customer: message.customer,
            attributes: MessageAttributes(message.attributes))
    }
}
