import BusinessMessages
import Simulator

/// A recorded conversation as a test: what the customer sends, and what the business must answer.
///
/// ```json
/// {"format": 1, "customer": {"device": "iphone"}, "steps": [
///   {"send": "hello"}, {"expect": [{"type": "text", "body": {"$match": "^Hi"}}], "withinSeconds": 5},
///   {"answer": {"choice": {"items": ["Apples"]}}}, {"none": 2}]}
/// ```
struct Scenario: Sendable {
    /// One step.
    struct Step: Sendable {
        enum Action: Sendable {
            /// Posts a text, a sample of a kind, or a whole message.
            case send(Sent)
            /// Answers the latest interactive message of the business.
            case answer(Answer)
            /// Waits for messages that match, in this order.
            case expect([JSONValue], within: Duration)
            /// Expects no message for this time.
            case none(Duration)
        }

        let name: String
        let action: Action
    }

    /// The customer's answer to an interactive message.
    struct Answer: Sendable {
        /// The end of a sign-in or a payment.
        enum Outcome: String, CaseIterable, Sendable {
            case success, failure, cancel

            /// The item of a question that this names: the first, the second or the last.
            func item(of offer: DeviceOffer) -> String {
                let titles = offer.items.map(\.title)
                let item =
                    switch self {
                    case .success: titles.first
                    case .failure: titles.dropFirst().first
                    case .cancel: titles.dropFirst().last
                    }
                return item ?? rawValue
            }
        }

        /// The chosen items and the filled pages.
        var choice = DeviceChoice()
        var outcome: Outcome?
        /// Sign-ins: the user name at the provider.
        var user: String?
        /// Payments: the shipping method and the country of the address that the customer selects first.
        var shippingMethod: String?
        var country: String?
    }

    /// The content of a sent message.
    enum Sent: Sendable {
        case text(String)
        case kind(Kind)
        case message([UInt8])
    }

    private static let maximumSteps = 1000
    private static let longestWait = 300.0

    let device: DeviceOptions.Device
    let locale: String?
    let intent: String?
    let group: String?
    let steps: [Step]

    /// The first mistake of a scenario.
    struct Mistake: Error {
        /// The value at fault.
        let value: JSONValue
        let reason: String
    }

    /// Reads a file; throws a ``CommandFailure`` with the place of the first mistake.
    init(file: String) throws(CommandFailure) {
        let root = try CommandFile.json(file).root
        do throws(Mistake) { try self.init(root) } catch {
            let (line, column) = error.value.position
            throw .malformed(path: terminalText("\(file):\(line):\(column)"), reason: error.reason)
        }
    }

    /// Reads a scenario; throws the first mistake.
    init(_ root: JSONValue) throws(Mistake) {
        func wrong(_ value: JSONValue, _ reason: String) -> Mistake { Mistake(value: value, reason: reason) }
        guard root["format"]?.int == 1 else { throw wrong(root, "is not a scenario with \"format\": 1") }
        try Self.check(root, ["format", "customer", "steps"])
        let customer = root["customer"]
        if let customer { try Self.check(customer, ["device", "locale", "intent", "group"]) }
        if let name = customer?["device"] {
            guard let device = name.string.flatMap(DeviceOptions.Device.init(_:)) else {
                throw wrong(name, "the device is one of \(DeviceOptions.Device.names)")
            }
            self.device = device
        } else {
            device = .iphone
        }
        locale = try Self.text(customer?["locale"])
        intent = try Self.text(customer?["intent"])
        group = try Self.text(customer?["group"])
        guard let list = root["steps"], list.kind == .array, (1...Self.maximumSteps).contains(list.count)
        else {
            throw wrong(root, "needs \"steps\", a list of 1 to \(Self.maximumSteps)")
        }
        var steps: [Step] = []
        for step in list.elements {
            let action = try Self.action(step)
            let name = try Self.text(step["name"]) ?? Self.actions.first { step[$0] != nil }
            steps.append(Step(name: "\(steps.count + 1) \(name ?? "")", action: action))
        }
        self.steps = steps
    }

    /// The maximum time that all steps wait together, with a pause before each message of the customer.
    func longestWait(pausing pause: Duration) -> Duration {
        steps.reduce(.zero) { sum, step in
            switch step.action {
            case .send, .answer: sum + pause
            case .expect(_, let limit): sum + limit
            case .none(let time): sum + time
            }
        }
    }

    private static let actions = ["send", "answer", "expect", "none"]

    private static func action(_ step: JSONValue) throws(Mistake) -> Step.Action {
        if step.kind == .object { try check(step, ["name", "withinSeconds"] + actions) }
        guard actions.filter({ step[$0] != nil }).count == 1 else {
            throw Mistake(value: step, reason: "a step has one of send, answer, expect and none")
        }
        if let wait = step["withinSeconds"], step["expect"] == nil {
            throw Mistake(value: wait, reason: "only a step with expect has withinSeconds")
        }
        if let sent = step["send"] { return .send(try content(sent)) }
        if let answer = step["answer"] { return .answer(try self.answer(answer)) }
        if let patterns = step["expect"] {
            guard patterns.kind == .array, patterns.count > 0 else {
                throw Mistake(value: patterns, reason: "expect is a list of messages")
            }
            for pattern in patterns.elements { try ScenarioPattern.check(pattern) }
            return .expect(Array(patterns.elements), within: try seconds(step["withinSeconds"], or: 10))
        }
        return .none(try seconds(step["none"], or: 1))
    }

    private static func answer(_ value: JSONValue) throws(Mistake) -> Answer {
        try check(value, ["choice"])
        guard let choice = value["choice"] else { throw Mistake(value: value, reason: "answer has a choice") }
        try check(choice, ["items", "fills", "outcome", "user", "shippingMethod", "country"])
        var answer = Answer()
        answer.choice = try self.choice(choice)
        if let value = choice["outcome"] {
            guard let outcome = value.string.flatMap(Answer.Outcome.init) else {
                throw Mistake(value: value, reason: "the outcome is success, failure or cancel")
            }
            answer.outcome = outcome
        }
        answer.user = try text(choice["user"])
        answer.shippingMethod = try text(choice["shippingMethod"])
        answer.country = try text(choice["country"])
        return answer
    }

    /// Reads `{"items":[…],"fills":[{"page","value"}]}`; both members may be missing.
    static func choice(_ object: JSONValue) throws(Mistake) -> DeviceChoice {
        var choice = DeviceChoice()
        for item in try list(object["items"]) {
            guard let text = item.string ?? item.int.map({ "\($0)" }) else {
                throw Mistake(value: item, reason: "an item is a text or a number")
            }
            choice.items.append(text)
        }
        for fill in try list(object["fills"]) {
            try check(fill, ["page", "value"])
            guard let page = fill["page"]?.string, let value = fill["value"]?.string else {
                throw Mistake(value: fill, reason: "a fill has the texts page and value")
            }
            choice.fills.append(DeviceChoice.Fill(page: page, value: value))
        }
        return choice
    }

    private static func content(_ sent: JSONValue) throws(Mistake) -> Sent {
        if let text = sent.string { return .text(text) }
        let contents = ["text", "kind", "message"]
        if sent.kind == .object { try check(sent, contents) }
        guard sent.kind == .object, contents.filter({ sent[$0] != nil }).count == 1 else {
            throw Mistake(value: sent, reason: "send is a text, or an object with text, kind or message")
        }
        if let text = sent["text"]?.string { return .text(text) }
        if let message = sent["message"], message.kind == .object { return .message(Array(message.text)) }
        if let kind = sent["kind"] {
            guard let known = kind.string.flatMap(Kind.init) else {
                throw Mistake(
                    value: kind,
                    reason:
                        "is not a kind: the kinds are \(Kind.allCases.map(\.rawValue).joined(separator: ", "))"
                )
            }
            return .kind(known)
        }
        throw Mistake(value: sent, reason: "the content is a text, the name of a kind, or a message")
    }

    /// Refuses a member that is unknown or repeated: a misspelled one would otherwise be skipped.
    private static func check(_ object: JSONValue, _ members: [String]) throws(Mistake) {
        guard object.kind == .object else { throw Mistake(value: object, reason: "is not an object") }
        var seen: Set<String> = []
        for (name, value) in object.members {
            guard members.contains(name) else {
                throw Mistake(
                    value: value,
                    reason:
                        "\"\(name)\" is not a member here: the members are \(members.joined(separator: ", "))"
                )
            }
            guard seen.insert(name).inserted else {
                throw Mistake(value: value, reason: "\"\(name)\" is there twice")
            }
        }
    }

    private static func list(_ value: JSONValue?) throws(Mistake) -> [JSONValue] {
        guard let value else { return [] }
        guard value.kind == .array else { throw Mistake(value: value, reason: "is not a list") }
        return Array(value.elements)
    }

    private static func text(_ value: JSONValue?) throws(Mistake) -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.string else { throw Mistake(value: value, reason: "is not a text") }
        return text
    }

    private static func seconds(_ value: JSONValue?, or missing: Double) throws(Mistake) -> Duration {
        guard let value else { return .milliseconds(Int(missing * 1000)) }
        guard let seconds = value.double, (0...longestWait).contains(seconds) else {
            throw Mistake(value: value, reason: "a time is a number of seconds up to \(Int(longestWait))")
        }
        return .milliseconds(Int(seconds * 1000))
    }
}

extension Scenario.Step.Action {
    /// Whether the customer sends something.
    var isCustomers: Bool {
        switch self {
        case .send, .answer: true
        case .expect, .none: false
        }
    }
}
