import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore
import Simulator

/// `balloon simulate`: plays a customer who writes to a business, and Apple's webhook calls.
struct Simulate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Play a customer: send messages to a server as Apple does.",
        discussion: """
            Each message is a kind (\(Kind.allCases.map(\.rawValue).joined(separator: ", "))), or a file with a \
            message in JSON, in which id, sourceId and destinationId may be missing. --choose and --fill answer the \
            newest interactive message of the business that the customer has not answered. The server is the one that \
            balloon dev runs, unless --config names another.

            The message cancel plays a subscriber who is about to cancel: the simulated App Store of balloon dev asks the \
            server which retention message to show. --product and --locale (en-US) choose among the products with a default \
            message; the exit status is 1 when the App Store would show nothing.
            """)

    /// The identifier of the customer when `--customer` is not given.
    static let defaultCustomer = "urn:mbid:AQAAYballoonSimulatedCustomer=="
    /// The maximum wait for a reply when the server cannot be asked about the delivery, in seconds.
    private static let patience = 20

    @Argument(help: .value("kind|file", "The messages to send."))
    var messages: [String] = []

    @Option(
        help: .value(
            "choice",
            "Choose from what the business offered last: a number from 1, a title, or several with commas."))
    var choose: [String] = []

    @Option(
        help: .value(
            "page=value", "Fill in a page of the form that the business sent last; may be repeated."),
        transform: Simulate.fill)
    var fill: [DeviceChoice.Fill] = []

    @Option(help: .value("words", "The words of each message of kind text."))
    var text: String?

    @Option(help: .value("name", "With authentication: sign in as this user at the provider of balloon dev."))
    var user: String?

    @Flag(help: "With authentication: decline at the provider.")
    var deny = false

    @Flag(help: "With authentication: answer the newest request of version 1.")
    var classic = false

    @Flag(help: "With applePay: pay with a card that the bank refuses.")
    var decline = false

    @Flag(help: "With applePay: close the payment sheet instead of paying.")
    var cancel = false

    @Flag(help: "With applePay: open the fallback page, as a device does that cannot pay.")
    var fallback = false

    @Flag(help: "With applePay: select an address in another country first.")
    var changeAddress = false

    @Option(help: .value("id", "With applePay: select another shipping method first."))
    var shippingMethod: String?

    @Option(help: .value("url", "The server's base address; /message is appended to it."))
    var to: String?

    @Option(help: .value("business", "The business, when there is more than one."))
    var business: String?

    @Option(help: .value("id", "The customer who writes."))
    var customer = defaultCustomer

    @Flag(help: "Move interactive data behind a reference, regardless of its size.")
    var large = false

    @Option(help: .value("file", "A file to attach to each text; may be repeated."))
    var attach: [String] = []

    @Option(name: .customLong("repeat"), help: .value("times", "Post each message this many times."))
    var repetitions = 1

    @Flag(help: "Post the messages and their repetitions in random order.")
    var shuffle = false

    @Flag(
        help: ArgumentHelp(
            "Wait until the delivery has ended, and print the replies and the end.",
            discussion: """
                The exit status is 0 when the message was handled, with or without a reply, 1 when it or a reply is a dead \
                letter or no handler takes its kind, and 75 when the delivery has not ended in time.
                """))
    var wait = false

    @Option(help: .value("seconds", "How long --wait waits for each message."))
    var timeout = 60

    @Flag(help: "Treat a message whose kind has no handler as handled.")
    var allowUnhandled = false

    @Flag(help: "Write one JSON object for each message sent and each reply.")
    var json = false

    @OptionGroup var cancellation: SimulatedCancellation
    @OptionGroup var device: DeviceOptions
    @OptionGroup var options: ServerOptions

    func validate() throws {
        let isCancellation = messages == [SimulatedCancellation.name]
        try require(
            isCancellation || cancellation.isEmpty,
            "--app, --product, --subscription and --environment need the message cancel.")
        try require(
            messages.isEmpty != (choose.isEmpty && fill.isEmpty),
            "Name a kind or a file, or answer the business with --choose or --fill.")
        try require(
            !wantsSignIn || messages == [Kind.authentication.rawValue],
            "--user, --deny and --classic need the message authentication alone.")
        try require(
            !wantsPayment || messages == [Kind.applePay.rawValue],
            "--decline, --cancel, --fallback, --change-address and --shipping-method need the message applePay alone."
        )
        try require((1...1000).contains(repetitions), "--repeat takes 1 to 1000.")
        try require((1...86_400).contains(timeout), "--timeout takes 1 to 86400 seconds.")
        try require(
            text == nil || messages.contains(Kind.text.rawValue), "--text needs a message of kind text.")
        try require((1...512).contains(customer.utf8.count), "A customer's identifier has 1 to 512 bytes.")
    }

    private static func fill(_ text: String) throws -> DeviceChoice.Fill {
        guard let fill = DeviceChoice.Fill(text) else { throw ValidationError("--fill takes page=value.") }
        return fill
    }

    func run() async throws {
        if messages == [SimulatedCancellation.name] {
            return try await cancellation.run(locale: device.locale, data: options.place.data, json: json)
        }
        var inputs = try messages.map { argument throws(CommandFailure) in try SimulatedInput(argument) }
        if inputs.isEmpty { inputs = [.answer(DeviceChoice(items: choose, fills: fill))] }
        let server = try options.server()
        let (customer, url) = try server.customer(customer, with: device, business: business, to: to)
        // Without --data and --config, the server at the address of --to may have another data directory.
        let data = to == nil || options.namesServer ? server.configuration.dataDirectory : nil
        var messages: [[UInt8]] = []
        for input in inputs {
            var message = try await message(input, of: customer, data: data)
            if case .kind(.authentication) = input {
                message = try await signedIn(customer, server) ?? message
            }
            if case .kind(.applePay) = input { message = try await paid(customer) ?? message }
            messages += repeatElement(message, count: repetitions)
        }
        if shuffle { messages.shuffle() }
        var ends: [SimulatedEnd] = []
        var known: Set<[UInt8]> = []
        for message in messages {
            // Do not wait for a reply to a repeated message: it is a duplicate and gets no second reply.
            let waits = wait && known.insert(message).inserted
            if let end = try await send(message, as: customer, to: url, data: data, waits: waits) {
                ends.append(end)
            }
        }
        if ends.contains(where: { $0 == .pending }) { throw ExitCode(CommandStatus.pending.rawValue) }
        let isFailed = ends.contains { $0 == .deadLetter || ($0 == .unhandled && !allowUnhandled) }
        if isFailed { throw ExitCode(CommandStatus.failed.rawValue) }
    }

    /// Whether an option for signing in was given.
    private var wantsSignIn: Bool { user != nil || deny || classic }

    /// Signs in as the newest request asks, and returns the device's event; nil when a sample event is to be
    /// sent.
    private func signedIn(_ customer: SimulatedCustomer, _ server: KnownServer) async throws -> [UInt8]? {
        if let provider = server.provider, customer.hasGateway {
            var signIn = SimulatedSignIn(declines: deny, isClassic: classic)
            signIn.user = user ?? signIn.user
            if let event = try await signIn.event(of: customer, at: provider) { return event }
        }
        guard wantsSignIn else { return nil }
        throw CommandFailure.nothingAsked(customer: terminalText(customer.id.rawValue))
    }

    /// Whether an option for the payment sheet was given.
    private var wantsPayment: Bool {
        decline || cancel || fallback || changeAddress || shippingMethod != nil
    }

    /// Pays as the newest request asks, and returns the device's event; nil when a sample event is to be
    /// sent.
    private func paid(_ customer: SimulatedCustomer) async throws -> [UInt8]? {
        if customer.hasGateway {
            var choice = DevicePayment.Choice()
            choice.declines = decline
            choice.cancels = cancel
            choice.opensFallback = fallback
            choice.otherCountry = changeAddress ? "DE" : nil
            choice.shippingMethod = shippingMethod
            if let (event, outcome) = try await customer.pay(choice) {
                // The errors need no escaping, because they are Apple's codes and names of fields.
                let errors = outcome.errors.isEmpty ? "" : ", " + outcome.errors.joined(separator: " ")
                let page = fallback ? outcome.httpStatuses.map { ", fallback page \($0)" }.joined() : ""
                let line = "payment: \(outcome.state), sheet total \(outcome.total)\(page)\(errors)"
                StandardStream.error.write(terminalText(line) + "\n")
                return event
            }
        }
        guard wantsPayment else { return nil }
        throw CommandFailure.nothingAsked(customer: terminalText(customer.id.rawValue))
    }

    private func message(
        _ input: SimulatedInput, of customer: SimulatedCustomer, data: String?
    ) async throws -> [UInt8] {
        let message = try await input.message(of: customer, text: text, data: data)
        guard case .kind(.text) = input else { return message }
        return try await customer.message(message, attaching: attach)
    }

    /// Posts a message and, if `waits`, returns how its delivery ended; otherwise nil.
    private func send(
        _ message: [UInt8], as customer: SimulatedCustomer, to url: String, data: String?, waits: Bool
    ) async throws -> SimulatedEnd? {
        // The number of the last earlier reply; later replies have greater numbers.
        let before = waits && customer.hasGateway ? try await customer.replies().last?.number ?? 0 : 0
        try await customer.send(message, to: url, isLarge: large)
        let rendering = SimulationRendering(json: json)
        StandardStream.output.write(rendering.sent(message))
        guard waits else { return nil }
        if let data, let ended = try await DeliveryInquiry(data: data, timeout: timeout).end(of: message) {
            StandardStream.output.write(rendering.delivery(ended))
            return SimulatedEnd(ended)
        }
        StandardStream.error.write(
            "note: this server cannot be asked about deliveries; only replies are shown\n")
        guard customer.hasGateway else { throw CommandFailure.noControlSocket }
        let replies = try await replies(to: customer, after: before)
        for reply in replies { StandardStream.output.write(rendering.reply(reply.message.root)) }
        guard replies.isEmpty else { return .handled }
        StandardStream.error.write("note: no reply within \(Self.patience) seconds\n")
        return .pending
    }

    /// Waits for the first reply and for further replies that closely follow it; empty when none arrives in
    /// time.
    private func replies(to customer: SimulatedCustomer, after number: Int) async throws -> [DeliveredMessage]
    {
        var replies = try await customer.replies(after: number, within: .seconds(min(Self.patience, timeout)))
        while let last = replies.last {
            let more = try await customer.replies(after: last.number, within: .milliseconds(300))
            if more.isEmpty { break }
            replies += more
        }
        return replies
    }
}

/// The result of a simulated message's delivery, which decides the exit status of `balloon simulate --wait`.
enum SimulatedEnd {
    case handled
    /// The business has no handler for the message's kind.
    case unhandled
    /// The message, or a reply to it, is a dead letter.
    case deadLetter
    /// The delivery did not end in time.
    case pending

    init(_ answer: DeliveryAnswer) {
        self =
            switch answer.status {
            case _ where !answer.isEnded: .pending
            case .failed, .rejected, .dropped, .erased, .retried: .deadLetter
            case _ where answer.replies.contains { $0.status.isDeadLetter }: .deadLetter
            case .unhandled: .unhandled
            case .handled, .handedOff, .withPerson, .repeated, .pending, .parked: .handled
            }
    }
}
