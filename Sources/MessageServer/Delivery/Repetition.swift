import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The second kind of duplicate: the same choice of the same customer, under another message id within seconds.
enum Repetition {
    /// How far the two may be apart.
    static let windowMilliseconds: Int64 = 10_000
    /// How many of the conversation's last lines are looked at.
    static let maximumLines = 20

    /// What an event has in common with those that may say the same, and hardly any other has; nil when it can be no
    /// repetition.
    static func fingerprint(of event: InboundEvent, in business: BusinessID, _ customer: CustomerID) -> Int? {
        guard let interaction = Choice(event)?.interaction else { return nil }
        var hasher = Hasher()
        hasher.combine(business)
        hasher.combine(customer)
        hasher.combine(event.kind)
        hasher.combine(interaction.session)
        hasher.combine(interaction.request)
        return hasher.finalize()
    }

    /// The message that the event says once more; nil when it is not one.
    ///
    /// `lines` are the conversation's last. What repeats another is not repeated itself, so that somebody who
    /// chooses the same every few seconds is heard.
    static func original(of event: InboundEvent, _ message: UnrecordedMessage, in lines: [ConversationLine])
        -> MessageID?
    {
        guard let choice = Choice(event) else { return nil }
        return lines.first { line in
            let age = message.receivedAt.milliseconds - line.at.milliseconds
            guard line.direction == .inbound, line.record < message.record, line.kind == event.kind,
                line.id != message.id, line.repeats == nil, (0...windowMilliseconds).contains(age),
                // It was valid when it was written.
                let earlier = try? JSONDocument(Array(line.message.text), limits: .stored)
            else { return false }
            return Choice(InboundEvent.decode(message: earlier)) == choice
        }?.id
    }
}

/// What was chosen, and from which message of the business.
private struct Choice: Equatable {
    private enum Selection: Equatable {
        case quickReply(identifier: String?, index: Int?)
        case list([ListPicker.Item])
        case times([TimePicker.Timeslot])
        case form([Form.Page])
    }

    let interaction: (session: String?, request: String?)
    private let selection: Selection

    static func == (one: Choice, other: Choice) -> Bool {
        one.interaction == other.interaction && one.selection == other.selection
    }

    /// Nil when the event is no choice, or does not say from what; and for private forms, whose answers are not
    /// kept to be compared.
    init?(_ event: InboundEvent) {
        let interaction: Interaction
        switch event.content {
        case .quickReply(let reply):
            interaction = reply.interaction
            selection = .quickReply(identifier: reply.selectedIdentifier, index: reply.selectedIndex)
        case .listPicker(let picker):
            interaction = picker.interaction
            selection = .list(picker.selectedItems)
        case .timePicker(let picker):
            interaction = picker.interaction
            selection = .times(picker.timeslots)
        case .form(let form) where !form.isPrivate:
            interaction = form.interaction
            selection = .form(form.selections)
        default: return nil
        }
        self.interaction = (interaction.sessionIdentifier, interaction.requestIdentifier)
        if self.interaction == (nil, nil) { return nil }
    }
}
