import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Simulator

/// Shows the business's messages of a conversation in the terminal, each once, and keeps the unanswered
/// questions.
actor ChatScreen {
    private static let maximumQuestions = 100

    private let customer: SimulatedCustomer
    private var rendering: SimulationRendering
    /// The number that the gateway gave to the last printed message.
    private var lastNumber = 0
    /// The business's messages that ask the customer for a choice and are not answered yet, oldest first.
    private var questions: [DeviceOffer] = []

    /// Skips the messages that the gateway already has, and keeps the newest unanswered question.
    ///
    /// Prints this question again, unless the output is JSON.
    init(of customer: SimulatedCustomer, data: String, json: Bool) async throws {
        self.customer = customer
        rendering = SimulationRendering(json: json)
        if customer.hasGateway { lastNumber = try await customer.replies().last?.number ?? 0 }
        if let offer = try await OpenOffer.newest(for: customer, data: data) {
            questions = [offer]
            if !json { print(offer) }
        }
    }

    /// The newest unanswered question; nil when there is none.
    var question: DeviceOffer? { questions.last }

    /// Forgets a question that was answered.
    func remove(_ offer: DeviceOffer) { questions.removeAll { $0.session == offer.session } }

    /// Switches between text and JSON.
    func switchFormat() { rendering = SimulationRendering(json: !rendering.json) }

    /// Prints the messages that have arrived at the gateway and are not yet printed, without waiting for more.
    ///
    /// Does nothing without a simulated gateway.
    func showReplies() async throws {
        guard customer.hasGateway else { return }
        show(try await customer.replies(after: lastNumber))
    }

    /// Prints messages as they arrive, until the task is cancelled or the gateway stops answering.
    nonisolated func follow() async {
        // An error ends the loop without a report, because the customer's next message fails with the same
        // error.
        while !Task.isCancelled, let replies = try? await nextReplies() { await show(replies) }
    }

    private func nextReplies() async throws -> [DeliveredMessage] {
        try await customer.replies(after: lastNumber, within: .seconds(30))
    }

    /// Prints how a delivery ended, and its accepted replies if no simulated gateway has delivered them.
    func show(_ answer: DeliveryAnswer) {
        if !customer.hasGateway {
            for reply in answer.replies where reply.status == .accepted {
                // The server wrote this message, so parsing it does not fail.
                if let message = try? JSONDocument(reply.message) { show(message) }
            }
        }
        StandardStream.output.write(rendering.delivery(answer, omitsAccepted: true))
    }

    private func show(_ replies: [DeliveredMessage]) {
        for reply in replies where reply.number > lastNumber {
            lastNumber = reply.number
            if reply.business == customer.business { show(reply.message) }
        }
    }

    /// Prints a message; a question is also kept until the customer answers it.
    private func show(_ message: JSONDocument) {
        // DeviceOffer throws for a message without a question; most messages have none.
        let offer = try? DeviceOffer(message)
        if let offer {
            if questions.count == Self.maximumQuestions { questions.removeFirst() }
            questions.append(offer)
        }
        if let offer, !rendering.json {
            print(offer)
        } else {
            StandardStream.output.write(rendering.reply(message.root))
        }
    }

    /// Prints a question and its choices.
    private func print(_ offer: DeviceOffer) {
        StandardStream.output.write("business  \(offer.kind): \(terminalText(offer.question ?? ""))\n")
        if offer.kind == .app {
            return StandardStream.output.write("  answer with a URL that begins with a question mark\n")
        }
        for line in offer.offered { StandardStream.output.write("  \(terminalText(line))\n") }
    }
}
