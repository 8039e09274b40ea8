import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Simulator

/// The customer's side of a conversation in the terminal: reads lines and sends messages.
struct ChatSession {
    private let customer: SimulatedCustomer
    private let url: String
    private let inquiry: DeliveryInquiry
    private let screen: ChatScreen
    private let lines = InputLines()
    private let isTerminal = StandardStream.inputIsTerminal && StandardStream.output.isTerminal
    /// The form that the customer is filling in, with the answers so far; nil while no form is open.
    private var filling: (offer: DeviceOffer, fills: [DeviceChoice.Fill])?
    private var hasDeadLetter = false

    init(_ customer: SimulatedCustomer, url: String, inquiry: DeliveryInquiry, screen: ChatScreen) {
        self.customer = customer
        self.url = url
        self.inquiry = inquiry
        self.screen = screen
    }

    /// Runs until the input ends; returns whether a message or a reply became a dead letter.
    mutating func run() async throws -> Bool {
        if isTerminal { StandardStream.output.write("write a message; /help lists the commands\n") }
        let screen = screen
        // At a terminal, also print messages that arrive while the program waits for the next typed line.
        let follower = isTerminal ? Task { await screen.follow() } : nil
        defer { follower?.cancel() }
        try await beginForm()
        while let line = await nextLine() {
            switch ChatLine(line) {
            case .quit: return hasDeadLetter
            case .help: write(ChatLine.usage)
            case .json: await screen.switchFormat()
            case .cancel: await cancel()
            case .typing: try await send(customer.message(.typingStart), expectsHandler: false)
            case .close: try await send(customer.message(.close), expectsHandler: false)
            case .file(let path):
                let message = customer.message(.text, text: "")
                try await send(try await customer.message(message, attaching: [path]))
            case .unknownCommand(let command):
                write("no command and no file is called \(terminalText(command)); /help lists the commands\n")
            case .text(let text): try await take(text)
            }
        }
        return hasDeadLetter
    }

    private func nextLine() async -> String? {
        if isTerminal { write("> ") }
        return await lines.next()
    }

    private func write(_ text: String) { StandardStream.output.write(text) }

    private mutating func cancel() async {
        guard let filling else { return write("no form is being filled in\n") }
        await screen.remove(filling.offer)
        self.filling = nil
        write("the form is not sent\n")
    }

    /// Uses a typed text as the answer to the form's page or to the newest question, or else sends it as a
    /// message.
    ///
    /// An invalid answer is not sent; the possible answers are printed instead.
    private mutating func take(_ text: String) async throws {
        do {
            if let filling {
                try await fill(filling.offer, filling.fills, text)
            } else if let offer = await screen.question, let answer = try answer(text, to: offer) {
                await screen.remove(offer)
                try await send(try customer.message(answer))
            } else if !text.isEmpty {
                try await send(customer.message(.text, text: text))
            }
        } catch let error as DeviceAnswerError {
            for line in [error.reason] + error.offered.map({ "  " + $0 }) { write(terminalText(line) + "\n") }
        }
    }

    /// Returns the answer that a typed text gives to a question; nil when the text is an ordinary message.
    private func answer(_ text: String, to offer: DeviceOffer) throws(DeviceAnswerError) -> DeviceAnswer? {
        guard offer.form == nil, offer.kind != .app || text.hasPrefix("?") else { return nil }
        do throws(DeviceAnswerError) {
            return try DeviceAnswer(to: offer, choosing: DeviceChoice(items: [text]))
        } catch {
            // A line of numbers that matches no choice is an error. Any other text that matches none is a
            // message.
            if case .unknownChoice = error,
                !text.allSatisfy({ $0.isNumber || $0 == "," || $0 == " " }) || text.isEmpty
            {
                return nil
            }
            throw error
        }
    }

    /// Starts to fill in the newest question if it is a form, and shows its first page.
    private mutating func beginForm() async throws {
        guard filling == nil, let offer = await screen.question, let form = offer.form else { return }
        do throws(DeviceAnswerError) {
            guard let page = try form.firstOpenPage(after: []) else { return }
            filling = (offer, [])
            write("fill in the form page by page; /cancel leaves it\n")
            show(page)
        } catch {
            await screen.remove(offer)
            write(terminalText(error.reason) + "\n")
        }
    }

    /// Adds the answer to the form's current page, and sends the form after the last page.
    private mutating func fill(
        _ offer: DeviceOffer, _ fills: [DeviceChoice.Fill], _ text: String
    ) async throws {
        guard let form = offer.form, let page = try form.firstOpenPage(after: fills) else {
            return
        }
        let filled = fills + [DeviceChoice.Fill(page: page.identifier, value: text)]
        if let next = try form.firstOpenPage(after: filled) {
            filling = (offer, filled)
            return show(next)
        }
        let answer = try DeviceAnswer(to: offer, choosing: DeviceChoice(fills: filled))
        filling = nil
        await screen.remove(offer)
        try await send(try customer.message(answer))
    }

    private func show(_ page: DeviceForm.Page) {
        let question = [page.title, page.subtitle].compactMap(\.self).filter { !$0.isEmpty }
        write(terminalText("page \(page.identifier): \(question.joined(separator: " - "))") + "\n")
        for line in page.offered { write("  \(terminalText(line))\n") }
    }

    /// Sends a message and waits for the end of its delivery.
    ///
    /// Without `expectsHandler`, the absence of a handler for the message is not reported, because most
    /// businesses handle neither typing nor closing.
    private mutating func send(_ message: [UInt8], expectsHandler: Bool = true) async throws {
        try await customer.send(message, to: url)
        guard let end = try await inquiry.end(of: message) else { throw CommandFailure.noControlSocket }
        try await screen.showReplies()
        if expectsHandler || end.status != .unhandled { await screen.show(end) }
        if SimulatedEnd(end) == .deadLetter { hasDeadLetter = true }
        try await beginForm()
    }
}
