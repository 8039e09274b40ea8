import BalloonPOSIX
import BusinessMessages
import MessageStore

/// The question with which the server asks a customer for a score when a person ends a conversation.
enum Survey {
    /// The scores, which are the choices of a quick reply.
    static let scores = 1...5

    /// The question: a text, and the choices below it; nil for a device that shows no quick reply.
    static func messages(
        _ text: String, _ name: ConversationID, for capabilities: Capabilities
    ) -> [OutboundMessage]? {
        let request = try? QuickReplyRequest(
            summary: text, items: scores.map { QuickReplyRequest.Item("\($0)", title: "\($0)") },
            requestIdentifier: ServerQuestion.survey.request(name.business, name.customer).rawValue)
        guard let request, let choices = try? OutboundMessage.quickReply(request).showable(on: capabilities)
        else { return nil }
        return [.text(text), choices]
    }
}

extension AssignmentWatch {
    /// Asks the customer for a score after a person ended the conversation, once until the handler answers again.
    ///
    /// `ended` is the assignment before its end. A crash before this call loses the question.
    func askSurvey(in name: ConversationID, _ ended: Assignment) async throws {
        guard ended.state == .person, let people = settings[name.business],
            let question = people.text(.survey, in: people.queue(of: ended))
        else { return }
        let (locale, capabilities) = try await onDisk { [store] in
            (
                try store.lastLocale(of: name.business, name.customer),
                try store.lastCapabilities(of: name.business, name.customer)
            )
        }
        guard let capabilities,
            let messages = Survey.messages(
                question.text(for: locale), name, for: Capabilities(parsing: capabilities))
        else { return }
        for (index, message) in messages.enumerated() {
            let id = Self.id(
                of: "survey \(index)", about: ended.began?.record ?? 0, in: name, of: store.identity)
            if try await wasSaid(id, in: name, ended) { continue }
            try await append(message, id, in: name, by: .server)
        }
    }
}
