import BalloonJSON
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
            case answer(DeviceChoice)
            /// Waits for messages that match, in this order.
            case expect([JSONValue], within: Duration)
            /// Expects no message for this time.
            case none(Duration)
        }

        let name: String
        let action: Action
    }

    /// The content of a sent message.
    enum Sent: Sendable {
        case text(String)
        case kind(Kind)
        case message([UInt8])
    }

    private static let maximumSteps = 1000
    private static let longestWait = 300.0

    let device: PhoneCustomer.Device
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
            throw .malformed(
                path: terminalText("\(file):\(line):\(column)"), reason: error.reason)
        }
    }

    /// Reads a scenario; throws the first mistake.
    init(_ root: JSONValue) throws(Mistake) {
        func wrong(_ value: JSONValue, _ reason: String) -> Mistake { Mistake(value: value, reason: reason) }
        guard root["format"]?.int == 1 else { throw wrong(root, "is not a scenario with \"format\": 1") }
        let customer = root["customer"]
        if let name = customer?["device"] {
            guard let device = name.string.flatMap(PhoneCustomer.Device.init) else {
                throw wrong(name, "the device is iphone, ipad, mac or older")
            }
            self.device = device
        } else {
            device = .iphone
        }
        locale = customer?["locale"]?.string
        intent = customer?["intent"]?.string
        group = customer?["group"]?.string
        guard let list = root["steps"], list.kind == .array, (1...Self.maximumSteps).contains(list.count)
        else {
            throw wrong(root, "needs \"steps\", a list of 1 to \(Self.maximumSteps)")
        }
        var steps: [Step] = []
        for step in list.elements {
            let action: Step.Action
            do throws(WrongStep) { action = try Self.action(step) } catch { throw wrong(step, error.reason) }
            let name = step["name"]?.string ?? action.name
            steps.append(Step(name: "\(steps.count + 1) \(name)", action: action))
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

    private struct WrongStep: Error { let reason: String }

    private static func action(_ step: JSONValue) throws(WrongStep) -> Step.Action {
        if let sent = step["send"] { return .send(try content(sent)) }
        if let choice = step["answer"]?["choice"] {
            let items = choice["items"].map { $0.elements.compactMap { $0.string ?? $0.int.map { "\($0)" } } }
            let fills = choice["fills"].map { fills in
                fills.elements.compactMap { fill in
                    fill["page"]?.string.flatMap { page in
                        fill["value"]?.string.map { DeviceChoice.Fill(page: page, value: $0) }
                    }
                }
            }
            return .answer(DeviceChoice(items: items ?? [], fills: fills ?? []))
        }
        if let patterns = step["expect"] {
            guard patterns.kind == .array, patterns.count > 0 else {
                throw WrongStep(reason: "expect is a list of messages")
            }
            return .expect(Array(patterns.elements), within: try seconds(step["withinSeconds"], or: 10))
        }
        if let none = step["none"] { return .none(try seconds(none, or: 1)) }
        throw WrongStep(reason: "a step has one of send, answer, expect and none")
    }

    private static func content(_ sent: JSONValue) throws(WrongStep) -> Sent {
        if let text = sent.string ?? sent["text"]?.string { return .text(text) }
        if let message = sent["message"], message.kind == .object { return .message(Array(message.text)) }
        if let kind = sent["kind"]?.string.flatMap(Kind.init) { return .kind(kind) }
        throw WrongStep(reason: "send is a text, or an object with text, kind or message")
    }

    private static func seconds(_ value: JSONValue?, or missing: Double) throws(WrongStep) -> Duration {
        let seconds = value == nil ? missing : value?.double ?? -1
        guard (0...longestWait).contains(seconds) else {
            throw WrongStep(reason: "a time is a number of seconds up to \(Int(longestWait))")
        }
        return .milliseconds(Int(seconds * 1000))
    }
}

extension Scenario.Step.Action {
    fileprivate var name: String {
        switch self {
        case .send: "send"
        case .answer: "answer"
        case .expect: "expect"
        case .none: "none"
        }
    }
    /// Whether the customer sends something.
    var isCustomers: Bool {
        switch self {
        case .send, .answer: true
        case .expect, .none: false
        }
    }
}
