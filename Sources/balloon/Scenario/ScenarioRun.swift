import BalloonJSON
import BalloonPOSIX
import BalloonTransport
import BusinessMessages
import Simulator

/// Plays one scenario as a new customer, and reports each step.
struct ScenarioRun {
    /// The result of a step.
    struct Result: Sendable {
        enum Verdict: Sendable, Equatable {
            case passed
            /// The reasons, one in each line.
            case failed([String])
            /// An earlier step failed.
            case skipped
        }

        let name: String
        let seconds: Double
        let verdict: Verdict
    }

    private let customer: SimulatedCustomer
    private let gateway: FakeGateway
    /// The number of the last message of the business that a step has read.
    private var read = 0
    private var question: DeviceOffer?
    private var pattern = ScenarioPattern()

    /// Plays as a customer, whose earlier messages are ignored.
    init(_ customer: SimulatedCustomer, _ gateway: FakeGateway) {
        self.customer = customer
        self.gateway = gateway
        read = gateway.lastMessage(for: customer.id)?.number ?? 0
    }

    /// Plays all steps until one fails, with a pause before each message of the customer.
    ///
    /// `didEnd` receives the index and the result of each step.
    mutating func play(
        _ scenario: Scenario, pausing pause: Duration = .zero, didEnd: (Int, Result) -> Void = { _, _ in }
    ) async -> [Result] {
        var results: [Result] = []
        var hasFailed = false
        for (index, step) in scenario.steps.enumerated() {
            defer { if let result = results.last { didEnd(index, result) } }
            guard !hasFailed else {
                results.append(Result(name: step.name, seconds: 0, verdict: .skipped))
                continue
            }
            if step.action.isCustomers, pause > .zero {
                // A cancelled pause ends early; the step then fails by itself.
                try? await Task.sleep(for: pause)
            }
            let began = ContinuousClock.now
            let reasons = await reasons(step.action)
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            hasFailed = !reasons.isEmpty
            results.append(
                Result(name: step.name, seconds: seconds, verdict: hasFailed ? .failed(reasons) : .passed))
        }
        return results
    }

    /// The reasons why a step fails; empty when it passes.
    private mutating func reasons(_ action: Scenario.Step.Action) async -> [String] {
        do {
            switch action {
            case .send(let sent): return try await post(try message(sent))
            case .answer(let choice):
                guard let question else { return ["the business has asked nothing that can be answered"] }
                let today = CalendarDate(atSeconds: SystemClock.secondsSince1970())
                let answer = try DeviceAnswer(to: question, choosing: choice, today: today)
                return try await post(try customer.message(answer))
            case .expect(let patterns, let limit): return await expect(patterns, within: limit)
            case .none(let time):
                let more = await next(1, within: time)
                return more.map { "expected no message, got \(Self.text($0))" }
            }
        } catch let error as DeviceAnswerError {
            return [error.reason] + error.offered
        } catch {
            return ["the step failed: \(error)"]
        }
    }

    private func message(_ sent: Scenario.Sent) throws -> [UInt8] {
        switch sent {
        case .text(let text): try customer.message(completing: text.asTextMessage)
        case .kind(let kind): customer.message(kind)
        case .message(let message): try customer.message(completing: message)
        }
    }

    private func post(_ message: [UInt8]) async throws -> [String] {
        let answer = try await customer.post(message)
        return answer.status == 200 ? [] : ["the server answered \(answer.status)"]
    }

    private mutating func expect(_ patterns: [JSONValue], within limit: Duration) async -> [String] {
        let end = ContinuousClock.now + limit
        var reasons: [String] = []
        for (index, wanted) in patterns.enumerated() {
            guard let message = await next(1, within: end - ContinuousClock.now).first else {
                return reasons + ["message \(index + 1): none came within \(limit / .seconds(1)) seconds"]
            }
            read = message.number
            // A message that asks nothing leaves the earlier question open.
            question = (try? DeviceOffer(message.message)) ?? question
            let differences = pattern.differences(wanted, message.message.root)
            if !differences.isEmpty {
                reasons += differences.map { "message \(index + 1) \($0)" }
                reasons.append("message \(index + 1) is \(Self.text(message))")
            }
        }
        return reasons
    }

    /// The next messages that a device shows in the thread; typing indicators are skipped.
    private mutating func next(_ count: Int, within limit: Duration) async -> [DeliveredMessage] {
        let end = ContinuousClock.now + limit
        while true {
            let left = max(.zero, end - ContinuousClock.now)
            let found = await gateway.waitForMessages(customer: customer.id, after: read, within: left)
            let shown = found.filter { $0.message.root["type"]?.string?.hasPrefix("typing") != true }
            if shown.count >= count || found.isEmpty { return Array(shown.prefix(count)) }
            if let last = found.last { read = last.number }
        }
    }

    private static func text(_ message: DeliveredMessage) -> String {
        let text = String(decoding: message.message.root.text, as: UTF8.self)
        return text.count > 2000 ? text.prefix(2000) + "…" : text
    }
}
