import BusinessMessages

/// An answer to a question of the business: the question and the chosen values, which both messages of one tap have.
///
/// Texts are bytes, because hashing and comparing characters takes time proportional to the square of a run of
/// combining marks.
struct AnswerContent {
    let kind: Kind
    let session: [UInt8]?
    let request: [UInt8]?
    /// Whether the conversation's line has the answer: that of a private form and of a sign-in is not stored.
    let isStored: Bool
    private let chosen: [String?]

    /// Creates the content of an event; nil when the event is no answer, or names no message of the business.
    init?(_ event: InboundEvent) {
        let interaction: Interaction
        var isStored = true
        switch event.content {
        case .quickReply(let reply):
            interaction = reply.interaction
            chosen = [reply.selectedIdentifier, reply.selectedIndex.map(String.init)]
        case .listPicker(let picker):
            interaction = picker.interaction
            chosen = picker.selectedItems.flatMap { item in
                [item.identifier, item.title, item.subtitle, item.order.map(String.init), item.style]
                    + [item.imageIdentifier]
            }
        case .timePicker(let picker):
            interaction = picker.interaction
            chosen = picker.timeslots.flatMap { slot in
                [slot.identifier, slot.startTime, slot.startSeconds.map(String.init)]
                    + [slot.duration.map { "\($0)" }]
            }
        case .form(let form):
            interaction = form.interaction
            isStored = !form.isPrivate
            chosen = form.selections.flatMap { page in
                [page.pageIdentifier, page.title, page.subtitle, String(page.items.count)]
                    + page.items.flatMap { [$0.identifier, $0.type, $0.title, $0.value] }
            }
        case .authentication(let authentication):
            interaction = authentication.interaction
            isStored = false
            chosen =
                [authentication.status, authentication.token, authentication.errorCode]
                + authentication.problems.flatMap { [$0.code.map { "\($0)" }, $0.domain, $0.message] }
        default: return nil
        }
        kind = event.kind
        self.isStored = isStored
        session = interaction.sessionIdentifier.map { Array($0.utf8) }
        request = interaction.requestIdentifier.map { Array($0.utf8) }
        if session == nil, request == nil { return nil }
    }

    /// The question and the chosen values in order; nil for a missing one.
    var values: [[UInt8]?] { [session, request] + chosen.map { $0.map { Array($0.utf8) } } }

    /// Whether a message of the business asks the question of this answer.
    func answers(_ message: [UInt8]) -> Bool {
        let question = Self.question(of: message)
        return request.map { $0 == question.request } ?? (session == question.session)
    }

    /// Returns the names of the question in a message of the business.
    static func question(of message: [UInt8]) -> (session: [UInt8]?, request: [UInt8]?) {
        // The business's message was validated before it was recorded, so that parsing succeeds.
        let data = (try? JSONDocument(message, limits: .stored))?.root["interactiveData"]
        return (
            data?["sessionIdentifier"]?.textBytes.map(Array.init),
            data?["data"]?["requestIdentifier"]?.textBytes.map(Array.init)
        )
    }
}
