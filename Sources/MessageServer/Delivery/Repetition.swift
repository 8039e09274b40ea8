import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageStore

/// Detects a repeated choice: a customer sends the same choice twice within seconds, with different message ids.
enum Repetition {
    /// The maximum time between a choice and its repetition.
    static let windowMilliseconds: Int64 = 10_000
    /// The number of lines at the end of the conversation that are checked.
    static let maximumLines = 20

    /// Returns a fingerprint that is the same for equal events, and very rarely for different ones.
    ///
    /// Nil when the event cannot be a repetition.
    static func fingerprint(of event: InboundEvent, in business: BusinessID, _ customer: CustomerID) -> Int? {
        guard let choice = Choice(event) else { return nil }
        var hasher = Hasher()
        hasher.combine(business)
        hasher.combine(customer)
        hasher.combine(event.kind)
        hasher.combine(choice.session)
        hasher.combine(choice.request)
        return hasher.finalize()
    }

    /// Returns the message that the event repeats; nil when it repeats none.
    ///
    /// `lines` are the last lines of the conversation. A line that is itself a repetition is skipped, so that
    /// a customer who makes the same choice every few seconds still gets answers.
    ///
    /// A choice is no repetition when the business asked the same question again after the earlier choice: by an accepted
    /// message of `lines`, or by one of `queued`, which are the conversation's unsent replies. Reusable content has the
    /// same `requestIdentifier` each time.
    static func original(
        of event: InboundEvent, _ message: UnrecordedMessage, in lines: [ConversationLine],
        queued: [OutboxEntry] = []
    ) -> MessageID? {
        guard let choice = Choice(event) else { return nil }
        // Compare the records that the questions answer: a question's own line is written after its acceptance, when the
        // customer may have answered already.
        var questions = queued.filter { entry in
            // A second tap that came before the decision does not answer it, although it is recorded later.
            entry.id.record < message.record && entry.decidedAt <= message.receivedAt
                && choice.answers(entry.reply.message)
        }.map(\.id.record)
        questions += lines.filter { line in
            line.direction == .outbound && line.outcome == "accepted" && line.record < message.record
                && choice.answers(Array(line.message.text))
        }.map(\.record)
        let lastQuestion = questions.max() ?? 0
        return lines.first { line in
            let age = message.receivedAt.milliseconds - line.at.milliseconds
            guard line.direction == .inbound, line.record < message.record, line.kind == event.kind,
                line.record > lastQuestion,
                line.id != message.id, line.repeats == nil, (0...windowMilliseconds).contains(age),
                // The line's message was validated before it was written, so that parsing succeeds.
                let earlier = try? JSONDocument(Array(line.message.text), limits: .stored)
            else { return false }
            return Choice(InboundEvent.decode(message: earlier)) == choice
        }?.id
    }
}

/// The chosen values, and the business's message that offered them.
///
/// Texts are bytes, because hashing and comparing characters takes time proportional to the square of a run of
/// combining marks.
private struct Choice: Equatable {
    private enum Selection {
        case quickReply(QuickReply)
        case list([ListPicker.Item])
        case times([TimePicker.Timeslot])
        case form([Form.Page])

        /// The chosen values in order; nil for a missing one.
        var values: [[UInt8]?] {
            let values: [String?] =
                switch self {
                case .quickReply(let reply): [reply.selectedIdentifier, reply.selectedIndex.map(String.init)]
                case .list(let items):
                    items.flatMap { item in
                        [item.identifier, item.title, item.subtitle, item.order.map(String.init), item.style]
                            + [item.imageIdentifier]
                    }
                case .times(let timeslots):
                    timeslots.flatMap { slot in
                        [slot.identifier, slot.startTime, slot.startSeconds.map(String.init)]
                            + [slot.duration.map { "\($0)" }]
                    }
                case .form(let pages):
                    pages.flatMap { page in
                        [page.pageIdentifier, page.title, page.subtitle, String(page.items.count)]
                            + page.items.flatMap { [$0.identifier, $0.type, $0.title, $0.value] }
                    }
                }
            return values.map { $0.map { Array($0.utf8) } }
        }
    }

    let session: [UInt8]?
    let request: [UInt8]?
    private let selection: Selection

    static func == (one: Choice, other: Choice) -> Bool {
        one.session == other.session && one.request == other.request
            && one.selection.values == other.selection.values
    }

    /// Creates the choice of an event; nil when the event is not a choice or does not name the message that
    /// offered it.
    ///
    /// Nil also for private forms and sign-ins, whose answers are not stored for comparison: see
    /// ``RecentSecretAnswers``.
    init?(_ event: InboundEvent) {
        let interaction: Interaction
        switch event.content {
        case .quickReply(let reply):
            interaction = reply.interaction
            selection = .quickReply(reply)
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
        session = interaction.sessionIdentifier.map { Array($0.utf8) }
        request = interaction.requestIdentifier.map { Array($0.utf8) }
        if session == nil, request == nil { return nil }
    }

    /// Whether a message of the business asks the question of this choice.
    func answers(_ message: [UInt8]) -> Bool {
        // The business's message was validated before it was recorded, so that parsing succeeds.
        guard let data = (try? JSONDocument(message, limits: .stored))?.root["interactiveData"] else {
            return false
        }
        guard let request else { return data["sessionIdentifier"]?.textBytes.map(Array.init) == session }
        return data["data"]?["requestIdentifier"]?.textBytes.map(Array.init) == request
    }
}
