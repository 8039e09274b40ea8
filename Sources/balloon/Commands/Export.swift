import ArgumentParser
import BalloonPOSIX
import BusinessMessages
import MessageServer
import MessageStore

/// `balloon export`: copies conversations to a folder, for a customer who asks for them or for another system.
struct Export: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract:
            "Copy the conversations of a customer or a business to a new folder; works while a server runs.",
        discussion: """
            The folder has a folder for each conversation, with messages.ndjson, one JSON object for each line, and \
            transcript.txt to read; files/ with the contents that customers sent, named by their SHA-256; and, for a customer, \
            payments.ndjson with the attempts to pay. The folder gets its name when it is complete; until then \
            it ends in .new. Not included: replies that wait to be sent, and what handlers stored.
            """)

    @Argument(help: .value("folder", "The folder to create."))
    var folder: String

    @Option(help: .value("id", "The customer's whole identifier."))
    var customer: String?

    @Option(help: .business)
    var business: String?

    @Flag(
        help: "Also export the other identifier of a person who accepted an invitation of this server.")
    var linked = false

    @OptionGroup var options: ReadingOptions

    mutating func validate() throws {
        // Remove trailing slashes, so that the unfinished folder is created beside the folder and not in it.
        while folder.hasSuffix("/"), folder != "/" { folder.removeLast() }
        if folder.isEmpty { throw ValidationError("Name the folder to create.") }
        if linked, customer == nil { throw ValidationError("--linked needs --customer.") }
        if customer == nil, business == nil { throw ValidationError("Name --customer, --business or both.") }
        for path in [folder, folder + ".new"] where Directory.exists(path) {
            throw ValidationError("\(terminalText(path)) exists; name another folder, or remove it.")
        }
    }

    func run() async throws {
        try options.check()
        let data = try options.data
        let business = try options.business(business)
        let files = try options.files()
        let customer = customer.map { CustomerID($0) }
        let others = linked ? try customer.map { try Store.linkedCustomers(to: $0, in: data) } ?? [] : []
        let customers = customer.map { [$0] + others.sorted { $0.rawValue < $1.rawValue } }
        let conversations =
            try customers.map { try $0.flatMap { try files.summaries(of: $0) } } ?? files.list()
        let chosen = conversations.filter { business == nil || $0.business == business }
            .sorted { $0.lastAt < $1.lastAt }
        guard !chosen.isEmpty else {
            return StandardStream.error.write("no conversation to export\n")
        }
        var export = try ExportFolder(folder, dataDirectory: data)
        for conversation in chosen {
            try export.add(
                try files.lines(of: conversation.business, conversation.customer), of: conversation.business)
        }
        if let customers { try export.addPayments(of: Set(customers)) }
        // The line comes first: a folder that gets its name is in the audit log.
        StoreChange.audit(
            "balloon export", data,
            Store.ledgerNames(
                of: chosen.map { ($0.customer, $0.business) }, in: data, try options.place.erasureSettings()))
        try export.finish()
        options.write(text(export.counts), json: json(export.counts))
        // The export of a business omits damaged conversations, so the exit code must report them.
        if customer == nil, let file = try files.quarantined().first {
            throw StoreError.quarantinedConversation(file: file)
        }
    }

    private func text(_ counts: ExportFolder.Counts) -> String {
        let missing = counts.missingFiles == 0 ? "" : "; \(counts.missingFiles) files are no longer kept"
        return terminalText(
            "exported \(counts.conversations) conversations, \(counts.lines) lines and \(counts.files) files to \(folder)\(missing)"
        ) + "\n"
    }

    private func json(_ counts: ExportFolder.Counts) -> String {
        jsonLine([
            "folder": folder, "conversations": counts.conversations, "lines": counts.lines,
            "files": counts.files, "missingFiles": counts.missingFiles,
        ])
    }
}
