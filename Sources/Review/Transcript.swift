package import BalloonJSON
package import BusinessMessages

/// One scene as it was played: each action with everything that the customer received after it.
package struct Transcript: Sendable {
    /// The scene.
    package let scene: Scene
    /// The actions in order.
    package var turns: [Turn] = []
    /// The reason why the scene ended early; nil for a complete one.
    package var failure: String?

    /// Begins the transcript of a scene.
    package init(_ scene: Scene) { self.scene = scene }

    /// The messages to the customer, without typing indicators.
    package var messages: [Line] { turns.flatMap(\.messages) }
}

/// An action, and what the customer received until the next one.
package struct Turn: Sendable {
    /// The acting side.
    package enum Actor: String, Sendable { case customer, agent, event }

    /// The acting side.
    package let actor: Actor
    /// The action in words; for a text of the customer, the text.
    package let action: String
    /// Seconds since the begin of the scene.
    package let at: Double
    /// The step that repeats the action in another scene; nil for one that cannot be repeated.
    package var step: Step?
    /// The messages that the customer received, with typing indicators, in order.
    package var lines: [Line] = []
    /// The queue in which the conversation waits after the turn.
    package var queue: String?
    /// The state of the conversation after the turn: `handler`, `waiting`, `person` or `closed`.
    package var state: String?
    /// The reasons of messages that did not reach the customer.
    package var undelivered: [String] = []
    /// How the action itself ended, if it was refused.
    package var refusal: String?

    /// Begins a turn.
    package init(_ actor: Actor, _ action: String, at: Double, step: Step? = nil) {
        self.actor = actor
        self.action = action
        self.at = at
        self.step = step
    }

    /// The messages without typing indicators.
    package var messages: [Line] { lines.filter { !$0.isTyping } }
    /// Whether the customer got no message, although the handler has the conversation.
    var isUnanswered: Bool { messages.isEmpty && state == "handler" }

    /// Seconds from the action to the first message; nil without one.
    package var firstAnswer: Double? { messages.first.map { $0.at - at } }

    /// The words of all messages.
    package var words: String { messages.map(\.words).joined(separator: "\n") }
}

/// One message to the customer.
package struct Line: Sendable {
    /// The author of a message.
    package enum Author: String, Sendable { case handler, server, program, person }

    /// The author.
    package let author: Author
    /// The author's name, of a person.
    package let person: String?
    /// Seconds since the begin of the scene.
    package let at: Double
    /// The kind.
    package let kind: Kind
    /// Whether the request marked the message as written by a program.
    package let isAutomatic: Bool
    /// The whole message.
    package let message: JSONValue

    /// Creates a line.
    package init(
        _ author: Author, person: String? = nil, at: Double, kind: Kind, isAutomatic: Bool, message: JSONValue
    ) {
        self.author = author
        self.person = person
        self.at = at
        self.kind = kind
        self.isAutomatic = isAutomatic
        self.message = message
    }

    package var isTyping: Bool { kind == .typingStart || kind == .typingEnd }

    /// The text of a text; empty for others.
    package var text: String { message["body"]?.string ?? "" }

    /// The link of a rich link; nil for others.
    package var link: JSONValue? { message["richLinkData"] }

    /// The content of an interactive message; nil for others.
    package var data: JSONValue? { message["interactiveData"]?["data"] }

    /// The bubble before the answer.
    package var bubble: JSONValue? {
        data?["receivedMessage"] ?? message["interactiveData"]?["receivedMessage"]
    }

    /// The bubble after the answer.
    package var replyBubble: JSONValue? {
        data?["replyMessage"] ?? message["interactiveData"]?["replyMessage"]
    }

    /// The words that the customer reads: the text, or the titles of a bubble.
    package var words: String {
        if !text.isEmpty { return text.filter { $0 != "\u{FFFC}" } }
        if let link { return link["title"]?.string ?? "" }
        let titles = [
            data?["quick-reply"]?["summaryText"]?.string, bubble?["title"]?.string,
            bubble?["subtitle"]?.string,
        ]
        return titles.compactMap(\.self).joined(separator: " ")
    }

    /// The titles that can be chosen, of a quick reply or a list.
    package var choices: [String] {
        if let reply = data?["quick-reply"] {
            return reply["items"]?.elements.compactMap { $0["title"]?.string } ?? []
        }
        let sections = data?["listPicker"]?["sections"]?.elements.map(\.self) ?? []
        return sections.flatMap { $0["items"]?.elements.compactMap { $0["title"]?.string } ?? [] }
    }

    /// Whether the message asks for an answer with the finger.
    package var isQuestion: Bool {
        switch kind {
        case .quickReply, .listPicker, .timePicker, .form, .authentication, .applePay, .app: true
        default: false
        }
    }
}
