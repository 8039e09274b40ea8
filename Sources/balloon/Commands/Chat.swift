import ArgumentParser
import BalloonPOSIX
import MessageServer
import Simulator

/// `balloon chat`: a conversation with a business in the terminal.
struct Chat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write to a business as a customer, and read its answers.",
        discussion: """
            Each line is a message. A number or a title answers the newest question of the business, and a form is filled in \
            page by page. The path of a file sends the file. /typing, /close, /json, /cancel, /help and /quit are commands. The \
            server is the one that balloon dev runs, unless --config names another. When standard input is no terminal, the exit \
            status is 1 if a message or a reply became a dead letter.
            """)

    @Option(help: .value("business", "The business, when there is more than one."))
    var business: String?

    @Option(help: .value("id", "The customer who writes."))
    var customer = Simulate.defaultCustomer

    @Option(help: .value("seconds", "How long to wait for the end of each delivery."))
    var timeout = 60

    @Flag(help: "Write one JSON object for each message and each reply; /json switches it.")
    var json = false

    @OptionGroup var device: DeviceOptions
    @OptionGroup var options: ServerOptions

    func validate() throws {
        try require((1...86_400).contains(timeout), "--timeout takes 1 to 86400 seconds.")
        try require((1...512).contains(customer.utf8.count), "A customer's identifier has 1 to 512 bytes.")
    }

    func run() async throws {
        let server = try options.server()
        let (customer, url) = try server.customer(customer, with: device, business: business)
        let inquiry = DeliveryInquiry(data: server.configuration.dataDirectory, timeout: timeout)
        var session = ChatSession(
            customer, url: url, inquiry: inquiry,
            screen: try await ChatScreen(of: customer, data: inquiry.data, json: json))
        let hasDeadLetter = try await session.run()
        if hasDeadLetter, !StandardStream.inputIsTerminal {
            throw ExitCode(CommandStatus.failed.rawValue)
        }
    }
}
