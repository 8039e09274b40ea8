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
    /// The base URL of the identity provider.
    private let provider: String
    /// The user name at the provider, unless the step names one.
    private let user: String
    /// The number of the last message of the business that a step has read.
    private var read = 0
    /// The newest message of the business that can be answered.
    private var question: DeviceOffer?
    private var pattern = ScenarioPattern()

    /// Plays as a customer, whose earlier messages are ignored.
    init(
        _ customer: SimulatedCustomer, _ gateway: FakeGateway, provider: String,
        user: String = SimulatedSignIn().user
    ) {
        self.customer = customer
        self.gateway = gateway
        self.provider = provider
        self.user = user
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
            case .answer(let answer):
                guard let question else { return ["the business has asked nothing that can be answered"] }
                return try await post(try customer.message(try await self.answer(answer, to: question)))
            case .expect(let patterns, let limit): return await expect(patterns, within: limit)
            case .none(let time):
                let more = await next(1, within: time)
                return more.map { "expected no message, got \(Self.text($0))" }
            }
        } catch let error as DeviceAnswerError {
            return [error.reason] + error.offered
        } catch let error as SimulatorError {
            return [error.description]
        } catch {
            return ["the step failed: \(error)"]
        }
    }

    private func message(_ sent: Scenario.Sent) throws -> [UInt8] {
        switch sent {
        case .text(let text): try customer.message(completing: text.asTextMessage)
        case .kind(let kind): customer.message(kind)
        case .message(let message): try customer.message(completing: try answering(message))
        }
    }

    /// Returns a recorded answer with the identifiers of the question of this play.
    private func answering(_ message: [UInt8]) throws -> [UInt8] {
        let document = try JSONDocument(message)
        guard let offer = question, let request = offer.requestIdentifier,
            InboundEvent.decode(message: document).kind == offer.kind,
            let outer = document.root["interactiveData"], let data = outer["data"],
            data["requestIdentifier"] != nil
        else { return message }
        let identifier = JSONWriter.quoted(request)
        var members = ["data": data.replacing(members: ["requestIdentifier": identifier])]
        if outer["sessionIdentifier"] != nil {
            members["sessionIdentifier"] = JSONWriter.quoted(offer.session)
        }
        return document.root.replacing(members: ["interactiveData": outer.replacing(members: members)])
    }

    /// Answers a question as a device does: a sign-in at the provider, and a payment at the server's addresses.
    func answer(_ answer: Scenario.Answer, to offer: DeviceOffer) async throws -> DeviceAnswer {
        let data = offer.message.root["interactiveData"]?["data"]
        let end = answer.outcome ?? Self.end(answer.choice, of: offer)
        // Apple accepts only https, so a plain address is that of this server.
        let oauth2 = data?["authenticate"]?["oauth2"]
        if let oauth2, oauth2["redirectURI"]?.string?.hasPrefix("http://") ?? true, let end, end != .cancel {
            var signIn = SimulatedSignIn(user: answer.user ?? user)
            signIn.declines = end == .failure
            return try await signIn.answer(
                to: offer.message, of: customer.id, at: provider, over: try CurlTransport())
        }
        let gateway = data?["payment"]?["endpoints"]?["paymentGatewayUrl"]?.string
        if gateway?.hasPrefix("http://") == true, let end {
            var payment = DevicePayment.Choice()
            payment.declines = end == .failure
            payment.cancels = end == .cancel
            payment.otherCountry = answer.country
            payment.shippingMethod = answer.shippingMethod
            return try await DeviceAnswer.paying(offer.message, payment, over: CurlTransport()).event
        }
        var choice = answer.choice
        if let outcome = answer.outcome { choice.items = [outcome.item(of: offer)] }
        return try DeviceAnswer(to: offer, choosing: choice)
    }

    /// The end of a sign-in or a payment that an item names by its number or title; nil for other questions.
    private static func end(_ choice: DeviceChoice, of offer: DeviceOffer) -> Scenario.Answer.Outcome? {
        guard let item = choice.items.first else { return nil }
        let titles = offer.items.map(\.title)
        let index = titles.firstIndex(of: item) ?? Int(item).map { $0 - 1 }
        let ends = Scenario.Answer.Outcome.allCases
        return index.flatMap { ends.indices.contains($0) ? ends[$0] : nil }
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
        return text.shortened(toBytes: 2000)
    }
}
