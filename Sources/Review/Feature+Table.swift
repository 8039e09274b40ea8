import BalloonJSON
import BusinessMessages

extension Feature {
    /// A turn with a message of the bot or a person that matches.
    private static func sent(
        _ isPerson: Bool, _ matches: @escaping @Sendable (Line) -> Bool
    ) -> @Sendable (Evidence) -> Finding.Quote? {
        { evidence in
            evidence.lines.first { ($0.line.author == .person) == isPerson && matches($0.line) }?.quote
        }
    }

    private static func kind(_ kind: Kind, person: Bool) -> @Sendable (Evidence) -> Finding.Quote? {
        sent(person) { $0.kind == kind && $0.link == nil }
    }

    private static func turn(
        _ plays: Play..., matches: @escaping @Sendable (Evidence.PlacedTurn) -> Bool
    ) -> @Sendable (Evidence) -> Finding.Quote? {
        { evidence in
            evidence.transcripts.filter { plays.contains($0.scene.play) }.flatMap(\.places).first(
                where: matches)?.quote
        }
    }

    private static func kindRow(
        _ number: Int, _ name: String, _ kind: Kind, agent: Need = .optional, show: String
    )
        -> Feature
    {
        Feature(
            number, name, agent: agent, show: show, by: self.kind(kind, person: false),
            and: self.kind(kind, person: true))
    }

    private static let files = turn(.files) { place in
        place.transcript.scene.name.hasPrefix("a file") && place.index > 0
            && (!place.turn.messages.isEmpty || place.turn.state == "waiting")
    }

    private static let refusedAfterDeletion = turn(.deletion) {
        $0.turn.actor == .agent && $0.turn.messages.isEmpty
    }

    private static let refusedTokens = turn(.features) { place in
        let refused = place.transcript.turns.filter { ["401", "403"].contains($0.refusal) }
        return place.turn.refusal != nil && refused.count == Step.Token.allCases.count
    }

    private static let queues: @Sendable (Evidence) -> Finding.Quote? = { evidence in
        let turns = evidence.turns(.features).filter {
            $0.turn.queue != nil && $0.transcript.scene.intent != nil
        }
        return Set(turns.compactMap(\.turn.queue)).count > 1 ? turns.last?.quote : nil
    }

    private static let landing = turn(.features) { place in
        place.transcript.scene.steps.contains(.landing(onlyID: true))
            && place.transcript.turns.allSatisfy { $0.refusal == nil }
    }

    private static let inOrder: @Sendable (Evidence) -> Finding.Quote? = { evidence in
        evidence.transcripts.flatMap(\.places).first { place in
            place.turn.messages.count > 1 && place.turn.messages.allSatisfy { $0.isAutomatic }
        }?.quote
    }

    /// The features of an MSP's validation.
    static let all: [Feature] = [
        Feature(
            1, "text in both directions", show: "umlauts, Chinese and emoji in both directions, in order",
            by: sent(false) { !$0.text.isEmpty }, and: sent(true) { $0.text.contains("你好") }),
        Feature(
            2, "attachments", show: "a photo, a PDF, a video, audio and a large file, in both directions",
            by: files, and: sent(true) { $0.message["attachments"] != nil }),
        Feature(
            3, "tapbacks", bot: .no, show: "the reaction at its message, and no answer of the bot",
            by: { _ in nil },
            and: turn(.files) { $0.turn.action.hasPrefix("Loved") && $0.turn.messages.isEmpty }),
        Feature(
            4, "closed conversations",
            show: "the deletion is visible, and sends are refused until the next message",
            by: refusedAfterDeletion),
        Feature(
            5, "rich links", show: "a preview with a picture for a link of a bot and of a person",
            by: sent(false) { $0.link != nil }, and: sent(true) { $0.link != nil }),
        kindRow(6, "quick replies", .quickReply, show: "two and five choices, and an answer that comes late"),
        kindRow(7, "list pickers", .listPicker, show: "one and several choices, several sections, pictures"),
        kindRow(
            8, "time pickers", .timePicker,
            show: "the customer's and a fixed time zone, and the calendar entry"),
        kindRow(
            9, "Apple Pay", .applePay, show: "pay, cancel, decline, another shipping method, and the order"),
        kindRow(10, "sign-ins", .authentication, show: "both versions; success, failure and cancel"),
        kindRow(11, "iMessage apps", .app, show: "with and without the app on the device"),
        kindRow(
            12, "forms", .form, agent: .yes,
            show: "several pages, branches, each type of field, a private form"),
        Feature(
            13, "previews by Apple", show: "an App Clip or a place of Apple Maps",
            by: sent(false) { $0.message["richLinkDataRef"] != nil },
            and: sent(true) { $0.message["richLinkDataRef"] != nil }),
        Feature(
            14, "typing indicators", show: "before each message; the customer's typing in the inbox",
            by: { evidence in
                evidence.transcripts.flatMap(\.places).first { place in
                    place.turn.actor == .customer && place.turn.lines.contains { $0.kind == .typingStart }
                }?.quote
            },
            and: turn(.features, .person) { place in
                place.turn.actor == .agent && place.turn.lines.contains { $0.kind == .typingStart }
            }),
        Feature(15, "routing by intent and group", show: "two entry links reach two queues", by: queues),
        Feature(
            16, "channel and landing page", show: "a brand chooses the MSP; the page has its name and logo",
            by: landing),
        Feature(
            17, "capabilities of devices",
            show: "a substitute where a device lacks a kind; the inbox refuses it",
            by: turn(.devices) { $0.transcript.scene.device == .plain && !$0.turn.messages.isEmpty },
            and: turn(.features) { $0.transcript.scene.device == .mac && $0.turn.refusal != nil }),
        Feature(18, "tokens", show: "a wrong, a missing and an old token are refused", by: refusedTokens),
        Feature(
            19, "sends", show: "the statuses 200, 400, 401, 403 and 404; gzip; large content by reference",
            by: turn(.faults) {
                $0.transcript.scene.steps.contains(.fault(.gateway)) && !$0.turn.messages.isEmpty
            },
            and: sent(true) { _ in true }),
        Feature(
            20, "first exchange", show: "typing, a text, an answer",
            by: turn(.greeting) { !$0.turn.messages.isEmpty }, and: sent(true) { _ in true }),
        Feature(
            21, "order and auto-reply",
            show: "three bubbles arrive in order; the header field differs by author", by: inOrder,
            and: sent(true) { !$0.isAutomatic }),
    ]
}
