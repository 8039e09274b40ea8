import BalloonJSON
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Simulator

/// The business's side of a conversation in the terminal: prints each message once and keeps the questions.
actor ChatScreen {
    private static let maximumQuestions = 100

    private let customer: SimulatedCustomer
    private var rendering: SimulationRendering
    /// The gateway's number of the last printed message.
    private var lastNumber = 0
    /// The unanswered questions, oldest first.
    private var questions: [DeviceOffer] = []

    /// Starts after the messages so far; a question that the customer has not answered is printed again.
    init(of customer: SimulatedCustomer, data: String, json: Bool) async throws {
        self.customer = customer
        rendering = SimulationRendering(json: json)
        if customer.hasGateway { lastNumber = try await customer.replies().last?.number ?? 0 }
        if let offer = try await OpenOffer.newest(for: customer, data: data) {
            questions = [offer]
            if !json { print(offer) }
        }
    }

    /// The newest question without an answer.
    var question: DeviceOffer? { questions.last }

    /// Forgets a question that was answered.
    func remove(_ offer: DeviceOffer) { questions.removeAll { $0.session == offer.session } }

    /// Switches between text and JSON.
    func switchFormat() { rendering = SimulationRendering(json: !rendering.json) }

    /// Prints the messages that arrived at the gateway, after a wait for the first; does nothing without a gateway.
    func showReplies() async throws {
        guard customer.hasGateway else { return }
        show(try await customer.replies(after: lastNumber))
    }

    /// Prints messages as they arrive, until it is cancelled or the gateway is gone.
    nonisolated func follow() async {
        // The next message that the customer sends reports the gateway's end.
        while !Task.isCancelled, let replies = try? await nextReplies() { await show(replies) }
    }

    private func nextReplies() async throws -> [DeliveredMessage] {
        try await customer.replies(after: lastNumber, within: .seconds(30))
    }

    /// Prints the end of a delivery; replies that the gateway has were printed before.
    func show(_ answer: DeliveryAnswer) {
        if !customer.hasGateway {
            for reply in answer.replies where reply.status == .accepted {
                // The server wrote it, so it is valid JSON.
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

    /// Prints a message, and keeps a question.
    private func show(_ message: JSONDocument) {
        // Most messages ask nothing.
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

    /// Prints a question and what can be chosen.
    private func print(_ offer: DeviceOffer) {
        StandardStream.output.write("business  \(offer.kind): \(terminalText(offer.question ?? ""))\n")
        if offer.kind == .app {
            return StandardStream.output.write("  answer with a URL that begins with a question mark\n")
        }
        for line in offer.offered { StandardStream.output.write("  \(terminalText(line))\n") }
    }
}
