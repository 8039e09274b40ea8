import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import MessageServer
import MessageStore
import Review
import Simulator

/// Plays one scene as a new customer, and writes its transcript.
struct ScenePlayer {
    let place: ReviewServer
    let brief: Brief
    var customer: SimulatedCustomer
    var transcript: Transcript
    private let began = Timestamp.now()
    /// The number of the last message to the customer that a turn has.
    private var read = 0
    private var question: DeviceOffer?
    /// Whether the scene broke something that is not repaired yet.
    var isFaulty = false
    /// Whether the second person acts.
    var isSecond = false

    /// The longest wait for the end of a delivery, in seconds.
    private static let patience = 12
    /// How long the customer waits for the first message when the delivery has ended without one.
    private static let silence = Duration.milliseconds(700)
    /// How long a waiting customer without a message waits for the server's text.
    private static let serverText = Duration.seconds(6)
    /// The pause after which no further message is expected.
    private static let pause = Duration.milliseconds(150)
    /// The longest pause between a typing indicator and its message.
    private static let typing = Duration.seconds(4)

    init(_ scene: Scene, _ brief: Brief, on place: ReviewServer) {
        self.place = place
        self.brief = brief
        transcript = Transcript(scene)
        customer = place.server.customer()
        customer.capabilities = scene.device.capabilities
        customer.locale = scene.locale
        customer.intent = scene.intent
    }

    /// Plays all steps; a step that cannot be played ends the scene.
    mutating func play() async -> Transcript {
        do {
            for step in transcript.scene.steps { try await play(step) }
        } catch let error as DeviceAnswerError {
            transcript.failure = ([error.reason] + error.offered).joined(separator: "; ")
        } catch {
            transcript.failure = "\(error)"
        }
        // The scene may have ended before its fault was repaired.
        if isFaulty { repair() }
        complete()
        return transcript
    }

    private mutating func play(_ step: Step) async throws {
        switch step {
        case .say(let text): try await post(try customer.message(completing: text.asTextMessage), text, step)
        case .choose(let items): try await choose(items, step)
        case .answer(let maximum): try await answerAll(upTo: maximum)
        case .end(let outcome):
            var answer = Scenario.Answer()
            answer.outcome = .init(rawValue: outcome.rawValue)
            try await reply(answer, "[\(outcome.rawValue)]", step)
        case .attach(let sample, let words): try await attach(sample, words)
        case .react(let isBubble): try await react(toBubble: isBubble)
        case .leave: try await post(customer.message(.close), "[deletes the conversation]", step)
        case .claim, .type, .write, .release, .close, .notify, .show: try await desk(step)
        case .knock(let token): try await knock(token)
        case .landing(let onlyID): try await land(onlyID: onlyID)
        case .silence(let seconds):
            begin(.event, "\(Int(seconds)) seconds without a message of the customer", nil)
            // A handler inside the server has no timers, so nothing needs the time.
            if place.hasProgram { try await Task.sleep(for: .milliseconds(Int(seconds * 1000))) }
            try await finish()
        case .fault(let fault): await breaks(fault)
        }
    }

    mutating func begin(_ actor: Turn.Actor, _ action: String, _ step: Step?) {
        transcript.turns.append(Turn(actor, action, at: seconds(.now()), step: step))
    }

    private func seconds(_ time: Timestamp) -> Double {
        Double(time.milliseconds - began.milliseconds) / 1000
    }

    /// Posts a message of the customer, and waits for everything that it causes.
    mutating func post(_ message: [UInt8], _ action: String, _ step: Step?) async throws {
        begin(.customer, action, step)
        let answer = try await customer.post(message)
        guard answer.status == 200 else { throw SimulatorError.gatewayRefused(status: answer.status) }
        let inquiry = DeliveryInquiry(data: place.server.directory, timeout: Self.patience)
        let end = try await inquiry.end(of: message)
        transcript.turns[transcript.turns.count - 1].undelivered =
            end?.replies.filter { $0.status.isDeadLetter }.map { "\($0.kind): \($0.reason ?? "refused")" }
            ?? []
        try await finish()
    }

    /// Reads what the customer received since the last turn, until no more is expected, and who answers now.
    mutating func finish() async throws {
        try await receive(within: Self.silence)
        let (status, answer) = try await place.call(
            "GET", "conversations/\(ConversationFiles.name(of: customer.id))")
        guard status == 200 else { return }
        let state = answer?["state"]?.string
        transcript.turns[transcript.turns.count - 1].state = state
        transcript.turns[transcript.turns.count - 1].queue = answer?["queue"]?["id"]?.string
        let turn = transcript.turns[transcript.turns.count - 1]
        if turn.actor == .customer, turn.messages.isEmpty, state == "waiting" {
            // The server sends its own text after the delivery has ended.
            try await receive(within: Self.serverText)
        }
    }

    private mutating func receive(within first: Duration) async throws {
        var limit = first
        var last: Kind?
        while true {
            let found = await place.server.simulators.gateway.waitForMessages(
                customer: customer.id, after: read, within: limit)
            if found.isEmpty { break }
            for message in found { try add(message) }
            last = found.last.map { Self.kind(of: $0.message) }
            limit = last == .typingStart ? Self.typing : Self.pause
        }
    }

    private mutating func add(_ message: DeliveredMessage) throws {
        read = message.number
        let line = Line(
            message.isAutomatic ? .handler : .person, at: seconds(message.at),
            kind: Self.kind(of: message.message),
            isAutomatic: message.isAutomatic, message: message.message.root)
        transcript.turns[transcript.turns.count - 1].lines.append(line)
        question = (try? DeviceOffer(message.message)) ?? question
    }

    private static func kind(of message: JSONDocument) -> Kind {
        OutboundMessage.kind(of: message.root)
    }

    /// Chooses items of the open question; writes them when there is no question, or it has no such item.
    private mutating func choose(_ items: [String], _ step: Step) async throws {
        let titles = question?.items.map(\.title) ?? []
        let isOffered = items.allSatisfy { item in
            titles.contains(item)
                || Int(item).map { (1...max(1, titles.count)).contains($0) && !titles.isEmpty } ?? false
        }
        guard question != nil, isOffered else {
            let text = items.joined(separator: ", ")
            return try await post(try customer.message(completing: text.asTextMessage), text, step)
        }
        var answer = Scenario.Answer()
        answer.choice.items = items
        try await reply(answer, items.joined(separator: ", "), step)
    }

    private mutating func reply(_ answer: Scenario.Answer, _ action: String, _ step: Step?) async throws {
        guard let question else {
            // On a device that cannot show the question the customer has nothing to tap.
            return try await post(try customer.message(completing: action.asTextMessage), action, step)
        }
        let run = ScenarioRun(
            customer, place.server.simulators.gateway, provider: place.server.simulators.provider.url)
        var answer = answer
        if !brief.signIn.isEmpty { answer.user = brief.signIn }
        let message = try customer.message(try await run.answer(answer, to: question))
        self.question = nil
        try await post(message, action, step)
    }

    /// Answers open questions with their first items, until none is open, or the same one is asked again.
    private mutating func answerAll(upTo maximum: Int) async throws {
        var asked: Set<String> = []
        for _ in 0..<maximum {
            guard let offer = question else { return }
            let name = ([offer.question ?? ""] + offer.items.map(\.title)).joined(separator: "\n")
            guard asked.insert(name).inserted else { return }
            var answer = Scenario.Answer()
            switch offer.kind {
            case .form:
                answer.choice.fills = try Self.fills(offer)
                try await reply(answer, "[fills in the form]", .answer(upTo: 1))
            case .app: return
            case .authentication, .applePay:
                answer.outcome = .success
                try await reply(answer, "[success]", .end(.success))
            default:
                guard let first = offer.items.first else { return }
                answer.choice.items = [first.title]
                try await reply(answer, first.title, .choose([first.title]))
            }
        }
    }

    private static func fills(_ offer: DeviceOffer) throws -> [DeviceChoice.Fill] {
        var fills: [DeviceChoice.Fill] = []
        while let page = try offer.form?.firstOpenPage(after: fills), fills.count < 50 {
            let value =
                switch page.type {
                case "input": "Robin Vale"
                case "datePicker": "2030-07-10"
                default: "1"
                }
            fills.append(DeviceChoice.Fill(page: page.identifier, value: value))
        }
        return fills
    }
}
