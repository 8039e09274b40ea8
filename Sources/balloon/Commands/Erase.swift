import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// `balloon erase`: forgets customers.
struct Erase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Forget customers: erase their messages, replies and files; a dry run without --yes.",
        discussion: """
            Also erases the other identifier of a person who accepted an invitation of this server: the telephone number, or \
            the one in the acceptance. Uses the running server, or locks the directory when none runs. Erases what arrived before the command; the \
            ledger gets a keyed hash of each conversation first. An interrupted erasure is completed by the next start. \
            Exits with 65 when quarantined files may still name the customer; it lists them. Not reached: log files, freed \
            disk blocks, and what handlers stored.
            """)

    @Option(
        help: .value(
            "id",
            "A customer's identifier, also a tel: one; may be repeated. - reads one from each line of standard input."
        ))
    var customer: [String]

    @Flag(help: "Only count what would be erased.")
    var dryRun = false

    @Flag(help: "Erase; without it, the command only counts.")
    var yes = false

    @Flag(help: "Keep the lines of payments, which name the customer by a hash.")
    var keepPayments = false

    @OptionGroup var options: ReadingOptions

    func validate() throws {
        if customer.isEmpty { throw ValidationError("Name a customer with --customer.") }
    }

    func run() async throws {
        try options.check()
        let customers = try await customers()
        let report: CustomerErasure.Report
        let isDone = yes && !dryRun
        if isDone {
            report = try await StoreChange.erase(
                ErasureRequest(customers, keepsPayments: keepPayments),
                options.place.erasureSettings(), data: try options.data)
        } else {
            report = try Store.previewErasure(of: customers, in: try options.data)
        }
        options.write(
            text(report, isDone: isDone),
            json: String(decoding: JSONObjectForm.erasureReport.json(report), as: UTF8.self) + "\n")
        if !report.unreached.isEmpty {
            throw CommandFailure.notErased(report.unreached.map { terminalText($0) })
        }
    }

    /// The customers of the options and of standard input.
    private func customers() async throws -> Set<CustomerID> {
        var customers = Set(customer.filter { $0 != "-" }.map { CustomerID($0) })
        if customer.contains("-") {
            let lines = InputLines()
            while let line = await lines.next(), customers.count <= ErasureRequest.maximumCustomers {
                if !line.isEmpty { customers.insert(CustomerID(line)) }
            }
        }
        try require(
            (1...ErasureRequest.maximumCustomers).contains(customers.count),
            "Name 1 to \(ErasureRequest.maximumCustomers) customers; repeat the command for others.")
        return customers
    }

    private func text(_ report: CustomerErasure.Report, isDone: Bool) -> String {
        if report.conversations == 0 { return "no conversation of these customers\n" }
        let conversations =
            "\(report.conversations) \(report.conversations == 1 ? "conversation" : "conversations")"
        let contents = "\(report.contents) \(report.contents == 1 ? "file" : "files")"
        if isDone {
            return "erased \(conversations), \(report.records) lines of the journal and \(contents)\n"
        }
        let others = report.linked.map { terminalText($0.rawValue) }.sorted().joined(separator: ", ")
        return
            "would erase \(conversations) with \(report.records) messages and up to \(contents); add --yes to do it\n"
            + (others.isEmpty ? "" : "the same person, by an accepted invitation: \(others)\n")
    }
}
